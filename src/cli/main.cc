#include "cli/cli.h"

int main(int argc, char** argv) {
  return pantoum::cli::run(argc, argv);
}
