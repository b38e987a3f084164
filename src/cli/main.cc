#include "cli/cli.h"
#include "cli/last_words.h"

int main(int argc, char** argv) {
  pantoum::cli::end_without_memory();
  return pantoum::cli::run(argc, argv);
}
