#include "weights/match_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace pantoum::weights {
namespace {

constexpr size_t kMostNames = 8;

// A prefix of the names in the file (`in_file`), or of those in the model.
struct Prefix {
  std::string text;
  bool in_file = true;
  auto operator<=>(const Prefix&) const = default;
};

using Names = std::set<std::string, std::less<>>;

// Calls `found` with every prefix of `name` that ends in a dot and whose rest is one of `others`.
void for_each_prefix(const std::string& name, const Names& others, const std::function<void(std::string)>& found) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (others.contains(std::string_view(name).substr(dot + 1))) found(name.substr(0, dot + 1));
}

// The prefix by which most of `left` are found in the file; "" where none is.
Prefix best_prefix(const Names& left, const Names& file) {
  std::map<Prefix, size_t> counts;
  for (const std::string& name : file)
    for_each_prefix(name, left, [&](std::string prefix) { ++counts[{std::move(prefix), true}]; });
  for (const std::string& name : left)
    for_each_prefix(name, file, [&](std::string prefix) { ++counts[{std::move(prefix), false}]; });
  Prefix best;
  size_t most = 0;
  for (const auto& [prefix, count] : counts)
    if (count > most) best = prefix, most = count;
  return best;
}

std::string name_in_file(const std::string& name, const Prefix& prefix) {
  if (prefix.in_file) return prefix.text + name;
  return name.starts_with(prefix.text) ? name.substr(prefix.text.size()) : name;
}

bool is_turned(const SafetensorEntry& entry, const base::TensorType& type) {
  return entry.shape.size() == 2 && type.shape.size() == 2 && entry.shape[0] == type.shape[1] &&
         entry.shape[1] == type.shape[0];
}

std::string listed(const std::vector<std::string>& names) {
  std::string text = fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), kMostNames)), ", "));
  return names.size() > kMostNames ? fmt::format("{} and {} more", text, names.size() - kMostNames) : text;
}

class Matcher {
 public:
  Matcher(const SafetensorFile& file, std::span<const WantedWeight> wanted, const std::set<std::string>& fixed)
      : file_(file), wanted_(wanted), fixed_(fixed) {}

  Result<WeightMatch> run() {
    find_prefix();
    for (const WantedWeight& weight : wanted_) match_.weights.push_back(match(weight));
    if (!misfits_.empty())
      return fail("E0242", "weights of another shape or type than the model's", file_.path,
                  "give weights of this model, or keep the model's own with --keep-init NAME", std::move(misfits_));
    if (used_.empty() && !wanted_.empty()) return nothing_found();
    tell();
    return std::move(match_);
  }

 private:
  const SafetensorFile& file_;
  std::span<const WantedWeight> wanted_;
  const std::set<std::string>& fixed_;
  WeightMatch match_;
  Prefix prefix_;
  std::set<const SafetensorEntry*> used_;
  std::vector<std::string> misfits_, missing_, turned_, square_;

  void find_prefix() {
    Names left, file;
    for (const SafetensorEntry& entry : file_.tensors) file.insert(entry.name);
    for (const WantedWeight& weight : wanted_)
      if (!file.contains(weight.name)) left.insert(weight.name);
    for (const WantedWeight& weight : wanted_) file.erase(weight.name);
    prefix_ = best_prefix(left, file);
  }

  const SafetensorEntry* find(const std::string& name) const {
    const SafetensorEntry* entry = file_.find(name);
    return entry == nullptr && !prefix_.text.empty() ? file_.find(name_in_file(name, prefix_)) : entry;
  }

  MatchedWeight match(const WantedWeight& weight) {
    const SafetensorEntry* entry = find(weight.name);
    if (entry == nullptr) {
      if (weight.told) missing_.push_back(weight.name);
      return {};
    }
    used_.insert(entry);
    const bool same = entry->shape == weight.type.shape, turned = !same && is_turned(*entry, weight.type);
    if (entry->dtype != weight.type.dtype || (!same && !turned))
      misfits_.push_back(fmt::format("'{}' is {}, the model has {}", entry->name,
                                     base::to_text(base::TensorType{entry->dtype, entry->shape}),
                                     base::to_text(weight.type)));
    if (turned) turned_.push_back(weight.name);
    if (same && entry->shape.size() == 2 && entry->shape[0] == entry->shape[1]) square_.push_back(weight.name);
    return {entry, turned};
  }

  Failure nothing_found() const {
    std::vector<std::string> in_file, in_model;
    for (const SafetensorEntry& entry : file_.tensors) in_file.push_back(entry.name);
    for (const WantedWeight& weight : wanted_)
      if (weight.told) in_model.push_back(weight.name);
    return fail("E0242", "none of the file's tensors is one of the model's", file_.path,
                "give weights of this model; `pantoum inspect` shows its names",
                {"the file has " + listed(in_file), "the model has " + listed(in_model)});
  }

  void tell() {
    if (!prefix_.text.empty())
      match_.notes.push_back(prefix_.in_file ? fmt::format("the weights' names begin with '{}'", prefix_.text)
                                             : fmt::format("the weights' names lack '{}'", prefix_.text));
    if (!missing_.empty())
      match_.notes.push_back("not among the weights, the model's own are kept: " + listed(missing_));
    for (const std::string& name : fixed_) used_.insert(find(name));
    std::vector<std::string> unread;
    for (const SafetensorEntry& entry : file_.tensors)
      if (!used_.contains(&entry) && !entry.name.starts_with("optim.") && !entry.name.ends_with("num_batches_tracked"))
        unread.push_back(entry.name);
    if (!unread.empty()) match_.notes.push_back("among the weights, but not in the model: " + listed(unread));
    if (!turned_.empty()) match_.notes.push_back("transposed: " + listed(turned_));
    if (!turned_.empty() && !square_.empty())
      match_.notes.push_back("square, and therefore taken as they are: " + listed(square_));
  }
};

}  // namespace

Result<WeightMatch> match_weights(const SafetensorFile& file, std::span<const WantedWeight> wanted,
                                  const std::set<std::string>& fixed) {
  return Matcher(file, wanted, fixed).run();
}

Result<std::vector<std::byte>> read_transposed(const SafetensorFile& file, const SafetensorEntry& entry) {
  std::vector<std::byte> stored(static_cast<size_t>(entry.bytes)), turned(stored.size());
  PANTOUM_TRY(read_tensor(file, entry, 0, stored));
  const auto rows = static_cast<size_t>(entry.shape[0]), columns = static_cast<size_t>(entry.shape[1]);
  const auto element = static_cast<size_t>(base::size_of(entry.dtype));
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      std::memcpy(turned.data() + (column * rows + row) * element, stored.data() + (row * columns + column) * element,
                  element);
  return turned;
}

}  // namespace pantoum::weights
