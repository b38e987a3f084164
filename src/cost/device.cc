#include "cost/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/nearest_name.h"
#include "base/units.h"

namespace pantoum::cost {

using problem::Link;
using problem::Pager;
using problem::PagerMode;
namespace {

std::string place(const std::string& where, const toml::node& node) {
  return fmt::format("{}:{}", where, node.source().begin.line);
}

// Reads the keys of one table, and keeps the first error.
class Reader {
 public:
  Reader(const toml::table& table, std::string path, std::string where)
      : table_(table), path_(std::move(path)), where_(std::move(where)) {}

  void allow(std::initializer_list<std::string_view> keys) {
    for (const auto& [key, node] : table_) {
      if (std::find(keys.begin(), keys.end(), key.str()) != keys.end() || key.str().substr(0, 2) == "x-") continue;
      std::string known;
      for (std::string_view name : keys) known += (known.empty() ? "" : ", ") + std::string(name);
      refuse(fmt::format("unknown key '{}'", name_of(key.str())), place(where_, node), "known here: " + known);
    }
  }

  void number(std::string_view key, double& value, bool positive = false) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto found = node->value<double>();
    if (!found || !std::isfinite(*found) || *found < 0 || (positive && *found == 0))
      return refuse(fmt::format("'{}' is not a finite number {} 0", name_of(key), positive ? ">" : ">="),
                    place(where_, *node), "");
    constexpr double kLeast = 1e-30, kMost = 1e30;
    if (*found > kMost || (*found > 0 && *found < kLeast))
      return refuse(fmt::format("'{}' is not from {} to {}", name_of(key), kLeast, kMost), place(where_, *node),
                    "numbers are in SI units: seconds, watts, bytes, operations per second");
    value = *found;
  }

  void whole(std::string_view key, Bytes& value, Bytes least) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<int64_t>();
    constexpr Bytes kMost = Bytes{1} << 40;
    if (!found || *found < least || *found > kMost)
      return refuse(fmt::format("'{}' is not a whole number from {} to {}", name_of(key), least, kMost),
                    place(where_, *node), "");
    value = *found;
  }

  void text(std::string_view key, std::string& value) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<std::string>();
    if (!found) return refuse(fmt::format("'{}' is not a text", name_of(key)), place(where_, *node), "");
    value = *found;
  }

  void bytes(std::string_view key, Bytes& value) {
    std::string written;
    text(key, written);
    if (written.empty() || error_) return;
    const auto parsed = base::parse_bytes(written, name_of(key));
    if (!parsed) return refuse(parsed.error().message, place(where_, *table_.get(key)), parsed.error().help);
    value = *parsed;
  }

  void flag(std::string_view key, bool& value) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<bool>();
    if (!found) return refuse(fmt::format("'{}' is not true or false", name_of(key)), place(where_, *node), "");
    value = *found;
  }

  // The sub-table of a key; null when it is absent or no table (then refused).
  const toml::table* table(std::string_view key, bool required) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (required)
        refuse(fmt::format("'{}' is missing", name_of(key)), where_,
               "compare with the profiles of `pantoum devices list`");
      return nullptr;
    }
    if (!node->is_table()) refuse(fmt::format("'{}' is not a table", name_of(key)), place(where_, *node), "");
    return node->as_table();
  }

  // The tables of an array of them, at most `most`; none when the key is absent or no such array (then refused).
  std::vector<const toml::table*> tables(std::string_view key, size_t most) {
    std::vector<const toml::table*> found;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return found;
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty() || !array->is_homogeneous(toml::node_type::table)) {
      refuse(fmt::format("'{}' is no list of tables", name_of(key)), place(where_, *node),
             fmt::format("write each under a line [[{}]]", name_of(key)));
      return found;
    }
    if (array->size() > most) {
      refuse(fmt::format("'{}' has more than {} tables", name_of(key), most), place(where_, *node), "");
      return found;
    }
    for (const toml::node& entry : *array) found.push_back(entry.as_table());
    return found;
  }

  void refuse(std::string message, std::string at, std::string help) {
    if (!error_)
      error_ = Error{"E0271", "bad device profile: " + std::move(message), std::move(at), {}, std::move(help)};
  }
  void take(const Reader& other) {
    if (!error_) error_ = other.error_;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::string name_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

 private:
  const toml::table& table_;
  std::string path_, where_;
  std::optional<Error> error_;
};

void read_caches(Reader& compute_reader, const std::string& where, Compute& compute) {
  const std::string cache_key = compute_reader.name_of("cache");
  for (const toml::table* table : compute_reader.tables("cache", kMostCaches)) {
    Reader reader(*table, cache_key, where);
    reader.allow({"bytes", "bytes_per_s"});
    CacheLevel cache;
    reader.bytes("bytes", cache.bytes);
    reader.number("bytes_per_s", cache.bytes_per_s, true);
    const bool is_nested = compute.caches.empty() || (cache.bytes > compute.caches.back().bytes &&
                                                      cache.bytes_per_s <= compute.caches.back().bytes_per_s);
    if (cache.bytes <= 0 || cache.bytes_per_s <= 0)
      reader.refuse(fmt::format("'{}' needs 'bytes' and 'bytes_per_s'", cache_key), place(where, *table), "");
    else if (!is_nested || cache.bytes_per_s < compute.bytes_per_s)
      reader.refuse(fmt::format("a larger memory is slower: '{}' is not in that order", cache_key),
                    place(where, *table),
                    fmt::format("write caches from the smallest to the largest, none slower than '{}'",
                                compute_reader.name_of("bytes_per_s")));
    compute.caches.push_back(cache);
    compute_reader.take(reader);
  }
  if (!compute.caches.empty() && compute.bytes_per_s == 0)
    compute_reader.refuse(fmt::format("'{}' without '{}'", cache_key, compute_reader.name_of("bytes_per_s")), where,
                          "give the rate of RAM, too");
}

// What the processor and the other engines have alike: rates and energy.
void read_rates(Reader& reader, const toml::table& table, const std::string& where, Compute& compute,
                bool needs_energy) {
  const auto key = [&](std::string_view name) { return reader.name_of(name); };
  double per_joule = 0, bytes_per_joule = 0;
  reader.number("flops_per_s", compute.flops_per_s, true);
  reader.number("flops_per_joule", per_joule, true);
  reader.number("bytes_per_s", compute.bytes_per_s);
  reader.number("bytes_per_joule", bytes_per_joule, true);
  reader.number("op_overhead_s", compute.op_overhead_s);
  reader.number("active_w", compute.active_w);
  if (per_joule > 0) compute.joules_per_flop = 1 / per_joule;
  if (bytes_per_joule > 0) compute.joules_per_byte = 1 / bytes_per_joule;
  std::string roofline = "sum";
  reader.text("roofline", roofline);
  if (roofline != "sum" && roofline != "max")
    reader.refuse(fmt::format("'{}' is '{}'", key("roofline"), roofline), place(where, table), "use sum or max");
  compute.roofline = roofline == "max" ? Roofline::kMax : Roofline::kSum;
  Bytes lanes = 1;
  reader.whole("vector_lanes", lanes, 1);
  constexpr Bytes kMostLanes = 4096;
  if (lanes > kMostLanes)
    reader.refuse(fmt::format("'{}' is more than {}", key("vector_lanes"), kMostLanes), place(where, table), "");
  compute.vector_lanes = static_cast<int>(std::min(lanes, kMostLanes));
  read_caches(reader, where, compute);
  if (!reader.error() && compute.active_w > 0 && (per_joule > 0 || bytes_per_joule > 0))
    reader.refuse(fmt::format("'{}' beside joules of operations or bytes", key("active_w")), place(where, table),
                  "energy is seconds times 'active_w', or that of 'flops_per_joule' and 'bytes_per_joule': give one");
  if (!reader.error() && per_joule == 0 && compute.active_w == 0 && needs_energy)
    reader.refuse(fmt::format("no energy: give '{}' or '{}'", key("active_w"), key("flops_per_joule")),
                  place(where, table), "");
}

void read_compute(Reader& root, const std::string& where, Compute& compute, bool has_clocks) {
  const toml::table* table = root.table("compute", true);
  if (table == nullptr) return;
  Reader reader(*table, "compute", where);
  reader.allow({"flops_per_s", "flops_per_joule", "bytes_per_s", "bytes_per_joule", "op_overhead_s", "slice_overhead_s",
                "active_w", "core_w", "roofline", "vector_lanes", "cache"});
  reader.number("core_w", compute.core_w);
  reader.number("slice_overhead_s", compute.slice_overhead_s);
  read_rates(reader, *table, where, compute, !has_clocks);
  if (!reader.error() && compute.core_w > 0 && compute.active_w == 0)
    reader.refuse("'compute.core_w' without 'compute.active_w'", place(where, *table),
                  "give the watts of one computing thread, too: core_w is what each further one adds");
  root.take(reader);
}

void read_link(Reader& pager, std::string_view key, const std::string& where, Link& link) {
  const toml::table* table = pager.table(key, true);
  if (table == nullptr) return;
  Reader reader(*table, "pager." + std::string(key), where);
  reader.allow({"latency_s", "bytes_per_s", "w"});
  reader.number("latency_s", link.latency_s);
  reader.number("bytes_per_s", link.bytes_per_s, true);
  reader.number("w", link.w);
  pager.take(reader);
}

void read_pager(Reader& root, const std::string& where, Pager& pager) {
  const toml::table* table = root.table("pager", false);
  if (table == nullptr) return;
  Reader reader(*table, "pager", where);
  reader.allow({"mode", "duplex", "block_bytes", "staging_bytes", "capacity", "in", "out"});
  if (!table->contains("mode"))
    reader.refuse("'pager.mode' is missing", place(where, *table), "use none, sync or async");
  std::string mode = "none", duplex = "half";
  reader.text("mode", mode);
  reader.text("duplex", duplex);
  reader.whole("block_bytes", pager.block_bytes, 1);
  reader.whole("staging_bytes", pager.staging_bytes, 0);
  reader.bytes("capacity", pager.capacity_bytes);
  if (mode != "none" && mode != "sync" && mode != "async")
    reader.refuse(fmt::format("'pager.mode' is '{}'", mode), place(where, *table), "use none, sync or async");
  if (duplex != "half" && duplex != "full")
    reader.refuse(fmt::format("'pager.duplex' is '{}'", duplex), place(where, *table), "use half or full");
  pager.mode = mode == "async" ? PagerMode::kAsync : mode == "sync" ? PagerMode::kSync : PagerMode::kNone;
  pager.full_duplex = duplex == "full";
  if (pager.mode != PagerMode::kNone) {
    read_link(reader, "in", where, pager.in);
    read_link(reader, "out", where, pager.out);
  }
  root.take(reader);
}

// The name of a clock level ends the name of an algorithm ("reference@600MHz"), so few characters may stand in it.
bool is_level_name(const std::string& name) {
  constexpr size_t kMostLetters = 32;
  constexpr std::string_view kMarks = "._-+";
  return !name.empty() && name.size() <= kMostLetters && std::all_of(name.begin(), name.end(), [&](char letter) {
    const bool is_alphanumeric =
        (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    return is_alphanumeric || kMarks.find(letter) != std::string_view::npos;
  });
}

void read_clocks(Reader& root, const std::string& where, DeviceProfile& profile) {
  std::set<std::string> names;
  for (const toml::table* table : root.tables("clock", kMostClockLevels)) {
    Reader reader(*table, "clock", where);
    reader.allow({"name", "flops_factor", "bytes_factor", "active_w"});
    ClockLevel level;
    reader.text("name", level.name);
    reader.number("flops_factor", level.flops_factor, true);
    reader.number("bytes_factor", level.bytes_factor, true);
    reader.number("active_w", level.active_w, true);
    if (!is_level_name(level.name) || !names.insert(level.name).second)
      reader.refuse("a clock level has no name of its own", place(where, *table),
                    "write name = \"600MHz\": letters, digits, '.', '_', '-' and '+', 32 at most");
    constexpr double kFurthest = 1e6;
    for (const double factor : {level.flops_factor, level.bytes_factor})
      if (factor < 1 / kFurthest || factor > kFurthest)
        reader.refuse(fmt::format("a factor of clock level '{}' is beyond a million", level.name), place(where, *table),
                      "factors are of the rates of 'compute', about 1");
    if (level.active_w == 0)
      reader.refuse(fmt::format("clock level '{}' has no 'active_w'", level.name), place(where, *table), "");
    root.take(reader);
    profile.clocks.push_back(std::move(level));
  }
  if (profile.host && !profile.clocks.empty())
    root.refuse("'clock' in a profile of this machine", where,
                "with host = true, times are measured at the clock that the machine has: leave 'clock' or 'host' out");
}

void read_engines(Reader& root, const std::string& where, DeviceProfile& profile) {
  std::set<std::string> names{kProcessor, kMemory};
  for (const toml::table* table : root.tables("engine", kMostOtherEngines)) {
    Reader reader(*table, "engine", where);
    reader.allow({"name", "flops_per_s", "flops_per_joule", "bytes_per_s", "bytes_per_joule", "op_overhead_s",
                  "active_w", "roofline", "vector_lanes", "cache", "idle_w", "launch_s", "handoff_s", "same_bits"});
    EngineProfile engine;
    reader.text("name", engine.name);
    if (!is_level_name(engine.name) || !names.insert(engine.name).second)
      reader.refuse("an engine has no name of its own", place(where, *table),
                    "write name = \"gpu\": letters, digits, '.', '_', '-' and '+', 32 at most; 'cpu' is what "
                    "'compute' is of, and 'memory' the bandwidth");
    read_rates(reader, *table, where, engine.compute, true);
    engine.is_modelled = table->contains("flops_per_s");
    if (!engine.is_modelled && (engine.compute.bytes_per_s > 0 || engine.compute.op_overhead_s > 0))
      reader.refuse(fmt::format("engine '{}' has rates without 'flops_per_s'", engine.name), place(where, *table),
                    "give it too, or none of them: then the engine computes the ops of which a table has its times");
    reader.number("idle_w", engine.idle_w);
    reader.number("launch_s", engine.launch_s);
    reader.number("handoff_s", engine.handoff_s);
    reader.flag("same_bits", engine.same_bits);
    root.take(reader);
    profile.engines.push_back(std::move(engine));
  }
  if (profile.host && !profile.engines.empty())
    root.refuse("'engine' in a profile of this machine", where,
                "engines of this machine are processors: leave 'engine' out, and plan with --engines cpu0,cpu1");
}

// Plans choose the number of threads on this machine alone.
void check_cores(Reader& root, const std::string& where, const DeviceProfile& profile) {
  if (profile.compute.core_w > 0 && !profile.host)
    root.refuse("'compute.core_w' in a profile of another machine", where,
                "ops run on fewer threads where host = true: leave 'core_w' out, or write host = true");
}

// A key of `sources` names a constant of the profile: "idle_w", "pager.in.w", or "clock.600MHz.active_w".
bool is_constant(const toml::table& root, const std::string& key, bool& is_table) {
  const toml::node_view<const toml::node> node = root.at_path(key);
  is_table = node.is_table() || node.is_array();
  return static_cast<bool>(node);
}

bool is_level_constant(const DeviceProfile& profile, const std::string& key) {
  for (const ClockLevel& level : profile.clocks)
    for (const char* field : {"flops_factor", "bytes_factor", "active_w"})
      if (key == "clock." + level.name + "." + field) return true;
  return false;
}

// "engine.gpu.active_w", or "engine.gpu.cache[0].bytes"
bool is_engine_constant(const toml::table& root, const std::string& key) {
  const toml::array* engines = root.get_as<toml::array>("engine");
  if (engines == nullptr) return false;
  for (const toml::node& entry : *engines) {
    const toml::table* engine = entry.as_table();
    const std::string prefix = engine == nullptr ? "" : "engine." + (*engine)["name"].value_or(std::string()) + ".";
    if (engine == nullptr || !key.starts_with(prefix)) continue;
    const std::string field = key.substr(prefix.size());
    bool is_table = false;
    if (field != "name" && is_constant(*engine, field, is_table) && !is_table) return true;
  }
  return false;
}

void read_sources(Reader& root, const toml::table& whole, const std::string& where, DeviceProfile& profile) {
  const toml::table* table = root.table("sources", false);
  if (table == nullptr) return;
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    const auto text = node.value_exact<std::string>();
    bool is_table = false;
    if (!text || text->empty())
      root.refuse(fmt::format("'sources.\"{}\"' is not a text", name), place(where, node),
                  "write the key with dots in quotation marks, as in \"pager.in.w\" = \"measured: by whom\"");
    else if (!is_level_constant(profile, name) && !is_engine_constant(whole, name) &&
             (!is_constant(whole, name, is_table) || is_table))
      root.refuse(fmt::format("'sources' names '{}', which is no constant of this profile", name), place(where, node),
                  "");
    else
      profile.sources.emplace(name, *text);
  }
}

}  // namespace

namespace {

// The parser recurses into keys with dots, and into brackets, whose depth it limits itself. Each level of a key
// costs a dot, so that the number of dots bounds the depth.
Result<void> check_size(const std::string& toml_text, const std::string& where) {
  const auto refused = [&](const std::string& what) {
    return fail("E0271", "bad device profile: " + what, where, "compare with the profiles of `pantoum devices list`");
  };
  if (toml_text.size() > kMostProfileBytes) return refused(fmt::format("it has more than {} bytes", kMostProfileBytes));
  if (static_cast<size_t>(std::count(toml_text.begin(), toml_text.end(), '.')) > kMostProfileDots)
    return refused(fmt::format("it has more than {} dots", kMostProfileDots));
  return {};
}

}  // namespace

Result<DeviceProfile> parse_device(const std::string& toml_text, const std::string& where) {
  PANTOUM_TRY(check_size(toml_text, where));
  toml::table table;
  try {
    table = toml::parse(toml_text);
  } catch (const toml::parse_error& error) {
    return fail("E0271", fmt::format("bad device profile: {}", error.description()),
                fmt::format("{}:{}:{}", where, error.source().begin.line, error.source().begin.column));
  }
  DeviceProfile profile;
  Reader root(table, "", where);
  root.allow({"name", "description", "source", "host", "battery", "ram", "rom", "align_bytes", "idle_w", "compute",
              "pager", "clock", "engine", "sources"});
  root.text("name", profile.device.name);
  root.text("description", profile.description);
  root.text("source", profile.source);
  root.flag("host", profile.host);
  root.flag("battery", profile.battery);
  root.bytes("ram", profile.device.ram_bytes);
  root.bytes("rom", profile.rom_bytes);
  root.whole("align_bytes", profile.device.align_bytes, 1);
  root.number("idle_w", profile.device.idle_w);
  read_compute(root, where, profile.compute, table.contains("clock"));
  read_pager(root, where, profile.device.pager);
  read_clocks(root, where, profile);
  read_engines(root, where, profile);
  check_cores(root, where, profile);
  read_sources(root, table, where, profile);
  if (profile.device.name.empty()) root.refuse("'name' is missing", where, "");
  if (profile.device.ram_bytes <= 0)
    root.refuse("'ram' is missing or 0", where, "write it with its unit, as in ram = \"256KiB\"");
  const Bytes align = profile.device.align_bytes;
  if ((align & (align - 1)) != 0) root.refuse("'align_bytes' is no power of two", where, "");
  if (root.error()) return Failure(*root.error());
  return profile;
}

Result<DeviceProfile> load_device(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) {
    PANTOUM_ASSIGN(const std::string text, base::read_file(name_or_path));
    return parse_device(text, name_or_path);
  }
  for (const auto& [name, text] : builtin_devices())
    if (name == name_or_path) return parse_device(text, "devices/" + name + ".toml");
  const std::vector<std::string> known = device_names();
  return fail("E0270", fmt::format("no device profile is called '{}'", name_or_path), "--device",
              fmt::format("{}use one of {}, or a path that ends in .toml", base::hint_at(name_or_path, known),
                          fmt::join(known, ", ")));
}

std::vector<std::string> engine_names(const DeviceProfile& device) {
  std::vector<std::string> names{kProcessor};
  for (const EngineProfile& engine : device.engines) names.push_back(engine.name);
  return names;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : builtin_devices()) names.push_back(name);
  return names;
}

}  // namespace pantoum::cost
