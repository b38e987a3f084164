# Makes OUTPUT, a C++ file with the texts of FILES (a list of names, in FOLDER) for report/page_files.h.
set(text "#include \"report/page_files.h\"\n\n#include \"base/result.h\"\n\nnamespace pantoum::report {\n\nstd::string_view page_file(std::string_view name) {\n")
foreach(file ${FILES})
  file(READ ${FOLDER}/${file} contents)
  string(APPEND text "  if (name == \"${file}\") return R\"~~~(${contents})~~~\";\n")
endforeach()
file(WRITE ${OUTPUT} "${text}  PANTOUM_CHECK(name.empty());  // no file of the page\n  return {};\n}\n\n}  // namespace pantoum::report\n")
