#include <cctype>
#include <map>
#include <sstream>

#include "emit/project_sources.h"

namespace pantoum::emit {
namespace {

struct Object {
  std::set<std::string> defines, needs;
};

// Lines "library.a:conv2d.c.o:0000000000000000 T pt_name" and "library.a:conv2d.c.o:                 U pt_name".
std::map<std::string, Object> objects_of(std::string_view symbols) {
  std::map<std::string, Object> objects;
  std::istringstream lines{std::string(symbols)};
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.rfind(".o:");
    const size_t begin = end == std::string::npos ? end : line.rfind(':', end);
    if (begin == std::string::npos) continue;
    Object& object = objects[line.substr(begin + 1, end - begin - 1)];
    std::istringstream words(line.substr(end + 3));
    std::string kind, name;
    while (words >> kind && kind.size() > 1) {  // an address
    }
    if (!(words >> name)) continue;
    if (kind == "U") object.needs.insert(name);
    if (kind != "U" && std::isupper(static_cast<unsigned char>(kind[0])) != 0) object.defines.insert(name);
  }
  return objects;
}

}  // namespace

std::set<std::string> kernel_files(std::string_view symbols, const std::set<std::string>& functions) {
  const std::map<std::string, Object> objects = objects_of(symbols);
  std::map<std::string, std::string> definer;
  for (const auto& [file, object] : objects)
    for (const std::string& name : object.defines) definer.emplace(name, file);
  std::set<std::string> files;
  std::vector<std::string> open(functions.begin(), functions.end());
  for (const std::string& function : functions)
    if (!definer.contains(function)) return {};
  while (!open.empty()) {
    const auto found = definer.find(open.back());
    open.pop_back();
    if (found == definer.end() || !files.insert(found->second).second) continue;
    const std::set<std::string>& needs = objects.at(found->second).needs;
    open.insert(open.end(), needs.begin(), needs.end());
  }
  return files;
}

}  // namespace pantoum::emit
