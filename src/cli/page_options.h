// Where a page file lies and whether it is encrypted: what the verbs share that make one, or measure its storage.
#pragma once

#include <string>

#include "cli/line/options.h"

namespace pantoum::cli {

struct PageWords {
  std::string file, encryption = "on";
  [[nodiscard]] bool encrypt() const { return encryption != "off"; }
};

inline void add_page_options(Verb& verb, PageWords& words, const std::string& file_is) {
  verb.add_option("--page-file", words.file, file_is);
  verb.add_option("--page-encryption", words.encryption,
                  "off: what is paged out lies in the page file as it is, for as long as the run takes")
      .one_of({"on", "off"});
}

}  // namespace pantoum::cli
