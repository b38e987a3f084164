#include "cost/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pantoum::cost {

using problem::PagerMode;
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"(
name = "small"
ram = "64KiB"
rom = "32KiB"
align_bytes = 8
idle_w = 0.25
[compute]
flops_per_s = 1e6
flops_per_joule = 1e8
[pager]
mode = "sync"
block_bytes = 512
in = { latency_s = 1e-3, bytes_per_s = 1e6, w = 0.5 }
out = { latency_s = 2e-3, bytes_per_s = 5e5 }
)";

std::string replaced(std::string from, const std::string& to) {
  std::string text = kSmall;
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("nothing to replace: " + from);
  return text.replace(at, from.size(), to);
}

TEST(Device, ReadsEveryKey) {
  const auto profile = parse_device(kSmall, "small.toml");
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(profile->device.ram_bytes, 65536);
  EXPECT_EQ(profile->rom_bytes, 32768);
  EXPECT_EQ(profile->device.align_bytes, 8);
  EXPECT_EQ(profile->device.idle_w, 0.25);
  EXPECT_EQ(profile->compute.joules_per_flop, 1e-8);
  EXPECT_EQ(profile->device.pager.mode, PagerMode::kSync);
  EXPECT_EQ(profile->device.pager.out.latency_s, 2e-3);
  EXPECT_FALSE(profile->host);
}

constexpr const char* kLeveled = R"(
name = "leveled"
ram = "64KiB"
[compute]
flops_per_s = 1e6
bytes_per_s = 1e6
roofline = "max"
vector_lanes = 4
[[compute.cache]]
bytes = "1KiB"
bytes_per_s = 4e6
[[compute.cache]]
bytes = "8KiB"
bytes_per_s = 2e6
[[clock]]
name = "600MHz"
active_w = 0.5
[[clock]]
name = "24MHz"
flops_factor = 0.04
bytes_factor = 0.2
active_w = 0.1
[sources]
ram = "published: a sheet"
"compute.cache[1].bytes" = "derived: from it"
"clock.24MHz.active_w" = "measured: by us"
)";

constexpr const char* kOfEngines = R"(
name = "soc"
ram = "1GiB"
[compute]
flops_per_s = 1e9
active_w = 1
[[engine]]
name = "gpu"
flops_per_s = 1e10
bytes_per_s = 1e9
active_w = 2
idle_w = 0.5
launch_s = 1e-5
handoff_s = 2e-5
[[engine.cache]]
bytes = "1MiB"
bytes_per_s = 1e10
[[engine]]
name = "npu"
flops_per_joule = 1e9
same_bits = true
[sources]
"engine.gpu.launch_s" = "measured: by us"
"engine.gpu.cache[0].bytes" = "published: a sheet"
)";

TEST(Device, ReadsEngines) {
  const auto profile = parse_device(kOfEngines, "soc.toml");
  ASSERT_TRUE(profile) << to_text(profile.error());
  ASSERT_EQ(profile->engines.size(), 2u);
  const EngineProfile &gpu = profile->engines[0], &npu = profile->engines[1];
  EXPECT_EQ(gpu.name, "gpu");
  EXPECT_TRUE(gpu.is_modelled);
  EXPECT_FALSE(gpu.same_bits);
  EXPECT_EQ(gpu.compute.flops_per_s, 1e10);
  ASSERT_EQ(gpu.compute.caches.size(), 1u);
  EXPECT_EQ(gpu.idle_w, 0.5);
  EXPECT_EQ(gpu.launch_s, 1e-5);
  EXPECT_EQ(gpu.handoff_s, 2e-5);
  EXPECT_FALSE(npu.is_modelled);
  EXPECT_TRUE(npu.same_bits);
  EXPECT_EQ(profile->sources.size(), 2u);
  EXPECT_EQ(profile->device.engines.size(), 1u) << "a plan uses them where it is asked to";
}

TEST(Device, TellsWhatIsWrongWithEngines) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kOfEngines;
    return text.replace(text.find(from), from.size(), to);
  };
  std::string many = kOfEngines;
  for (size_t engine = 0; engine < kMostOtherEngines; ++engine)
    many.insert(many.find("[sources]"), "[[engine]]\nname = \"e" + std::to_string(engine) + "\"\nactive_w = 1\n");
  const std::vector<std::pair<std::string, std::string>> wrong{
      {with("\"npu\"", "\"gpu\""), "no name of its own"},
      {with("\"npu\"", "\"cpu\""), "no name of its own"},
      {with("\"npu\"", "\"memory\""), "no name of its own"},
      {with("\"npu\"", "\"n,pu\""), "no name of its own"},
      {with("name = \"npu\"", ""), "no name of its own"},
      {with("flops_per_joule = 1e9", ""), "no energy: give 'engine.active_w'"},
      {with("active_w = 2", "active_w = 2\nflops_per_joule = 1"), "'engine.active_w' beside"},
      {with("same_bits = true", "bytes_per_s = 1"), "rates without 'flops_per_s'"},
      {with("launch_s = 1e-5", "launch_s = -1e-5"), "'engine.launch_s'"},
      {with("launch_s = 1e-5", "launch_s = nan"), "'engine.launch_s'"},
      {with("handoff_s = 2e-5", "hand_off_s = 2e-5"), "unknown key 'engine.hand_off_s'"},
      {with("= 1e10\n[[engine]]", "= 1e8\n[[engine]]"), "'engine.cache' is not in that order"},
      {with("same_bits = true", "same_bits = 1"), "not true or false"},
      {with("same_bits = true", "core_w = 1"), "unknown key 'engine.core_w'"},
      {with("engine.gpu.launch_s", "engine.tpu.launch_s"), "no constant"},
      {with("engine.gpu.launch_s", "engine.npu.launch_s"), "no constant"},
      {with("engine.gpu.launch_s", "engine.gpu.name"), "no constant"},
      {with("cache[0].bytes", "cache[1].bytes"), "no constant"},
      {with("ram = \"1GiB\"", "ram = \"1GiB\"\nhost = true"), "'engine' in a profile of this machine"},
      {many, "more than 7"}};
  for (const auto& [text, message] : wrong) {
    const auto profile = parse_device(text, "bad.toml");
    ASSERT_FALSE(profile) << text;
    EXPECT_EQ(profile.error().code, "E0271");
    EXPECT_THAT(to_text(profile.error()), HasSubstr(message));
  }
}

TEST(Device, ReadsCachesClockLevelsAndSources) {
  const auto profile = parse_device(kLeveled, "leveled.toml");
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(profile->compute.roofline, Roofline::kMax);
  EXPECT_EQ(profile->compute.vector_lanes, 4);
  ASSERT_EQ(profile->compute.caches.size(), 2u);
  EXPECT_EQ(profile->compute.caches[1].bytes, 8192);
  EXPECT_EQ(profile->compute.caches[1].bytes_per_s, 2e6);
  ASSERT_EQ(profile->clocks.size(), 2u);
  EXPECT_EQ(profile->clocks[0].flops_factor, 1);
  EXPECT_EQ(profile->clocks[1].name, "24MHz");
  EXPECT_EQ(profile->clocks[1].bytes_factor, 0.2);
  EXPECT_EQ(profile->sources.at("clock.24MHz.active_w"), "measured: by us");
}

TEST(Device, TellsWhatIsWrongWithCachesClockLevelsAndSources) {
  const auto with = [](std::string from, const std::string& to) {
    std::string text = kLeveled;
    const size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("nothing to replace: " + from);
    return text.replace(at, from.size(), to);
  };
  std::string many = kLeveled;
  for (size_t level = 0; level < kMostClockLevels; ++level)
    many.insert(many.find("[sources]"), "[[clock]]\nname = \"l" + std::to_string(level) + "\"\nactive_w = 1\n");
  const std::vector<std::pair<std::string, std::string>> wrong{
      {with("\"max\"", "\"min\""), "compute.roofline"},
      {with("lanes = 4", "lanes = 0"), "compute.vector_lanes"},
      {with("lanes = 4", "lanes = 5000"), "compute.vector_lanes"},
      {with("\"8KiB\"", "\"1KiB\""), "a larger memory is slower"},
      {with("= 2e6", "= 5e6"), "a larger memory is slower"},
      {with("= 2e6", "= 5e5"), "a larger memory is slower"},
      {with("bytes_per_s = 1e6\n", ""), "without 'compute.bytes_per_s'"},
      {with("[[compute.cache]]", "[compute.cache]"), ""},
      {with("\"1KiB\"", "1024"), "compute.cache.bytes"},
      {with("\"24MHz\"", "\"600MHz\""), "no name of its own"},
      {with("\"24MHz\"", "\"24 MHz\""), "no name of its own"},
      {with("\"24MHz\"", "\"x@y\""), "no name of its own"},
      {with("active_w = 0.1", ""), "has no 'active_w'"},
      {with("active_w = 0.1", "active_w = 0.0"), "clock.active_w"},
      {with("factor = 0.04", "factor = -1.0"), "clock.flops_factor"},
      {with("factor = 0.04", "factor = 1e-7"), "beyond a million"},
      {with("factor = 0.2", "factor = 1e7"), "beyond a million"},
      {with("factor = 0.2", "factor = 1e300"), "from 1e-30 to 1e+30"},
      {with("factor = 0.2", "factor = 1e-320"), "from 1e-30 to 1e+30"},
      {with("flops_factor", "flop_factor"), "clock.flop_factor"},
      {with("[sources]", "[origins]"), "unknown key"},
      {with("ram = \"published", "rom = \"published"), "'rom', which is no constant"},
      {with("cache[1].bytes", "cache[2].bytes"), "no constant"},
      {with("compute.cache[1].bytes", "compute"), "no constant"},
      {with("24MHz.active_w", "24MHz.name"), "no constant"},
      {with("\"measured: by us\"", "7"), "is not a text"},
      {with("ram = \"64KiB\"", "ram = \"64KiB\"\nhost = true"), "of this machine"},
      {"clock = 3\n" + std::string(kLeveled).substr(0, std::string(kLeveled).find("[[clock]]")), "no list of tables"},
      {many, "more than 16"}};
  for (const auto& [text, message] : wrong) {
    const auto profile = parse_device(text, "bad.toml");
    ASSERT_FALSE(profile) << text;
    EXPECT_EQ(profile.error().code, "E0271");
    EXPECT_THAT(to_text(profile.error()), HasSubstr(message));
    EXPECT_THAT(profile.error().where, HasSubstr("bad.toml"));
  }
}

TEST(Device, MicrocontrollersReadTheirFlashInPlace) {
  EXPECT_EQ(load_device("m4")->rom_bytes, 1 << 20);
  EXPECT_EQ(load_device("m0")->rom_bytes, 256 << 10);
  EXPECT_EQ(load_device("m7")->rom_bytes, 7936 << 10);
  EXPECT_EQ(load_device("a72")->rom_bytes, 0);
  EXPECT_EQ(load_device("host")->rom_bytes, 0);
}

TEST(Device, HasTheProfilesOfTheHouse) {
  EXPECT_THAT(device_names(), testing::UnorderedElementsAre("host", "m0", "m4", "m7", "a72", "tx2", "jetson-orin",
                                                            "iphone-13", "iphone-15", "a53", "pi4", "pi5"));
  for (const std::string& name : device_names()) {
    const auto profile = load_device(name);
    ASSERT_TRUE(profile) << to_text(profile.error());
    EXPECT_EQ(profile->device.name, name);
    EXPECT_FALSE(profile->source.empty()) << name;
    for (const auto& [constant, source] : profile->sources)  // that each has one: tests/house/test_devices.py
      EXPECT_TRUE(
          std::any_of(std::begin(kSourceKinds), std::end(kSourceKinds),
                      [&kind_of = source](const std::string& kind) { return kind_of.starts_with(kind + ": "); }))
          << name << " " << constant;
  }
  const auto unknown = load_device("toaster");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "E0270");
  EXPECT_THAT(unknown.error().help, HasSubstr("a72"));
}

TEST(Device, TellsTheLineAndTheKeyOfWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {replaced("align_bytes", "align_bites"), "align_bites"},
      {replaced("1e6\nflops_per_joule", "-1.0\nflops_per_joule"), "flops_per_s"},
      {replaced("\"64KiB\"", "64"), "ram"},
      {replaced("\"64KiB\"", "\"64\""), "64KiB"},
      {replaced("= 8", "= 12"), "power of two"},
      {replaced("\"sync\"", "\"fast\""), "pager.mode"},
      {replaced("flops_per_joule = 1e8", ""), "no energy"},
      {replaced("flops_per_joule = 1e8", "flops_per_joule = 1e8\nactive_w = 1"), "give one"},
      {replaced("flops_per_joule = 1e8", "bytes_per_joule = 1e8\nactive_w = 1"), "give one"},
      {replaced("mode = \"sync\"\n", ""), "'pager.mode' is missing"},
      {replaced("rom = ", "reserve = \"4KiB\"\nrom = "), "unknown key 'reserve'"},
      {replaced("= 512", "= 2199023255552"), "1099511627776"},
      {replaced("bytes_per_s = 5e5", "bytes_per_s = 0.0"), "bytes_per_s"},
      {replaced("[compute]", "[compute"), ""},
      {"", "is missing"}};
  for (const auto& [text, key] : wrong) {
    const auto profile = parse_device(text, "bad.toml");
    ASSERT_FALSE(profile) << text;
    EXPECT_EQ(profile.error().code, "E0271");
    EXPECT_THAT(to_text(profile.error()), HasSubstr(key));
    EXPECT_THAT(profile.error().where, HasSubstr("bad.toml"));
  }
  EXPECT_THAT(parse_device(replaced("align_bytes = 8", "align_bites = 8"), "bad.toml").error().where,
              HasSubstr("bad.toml:5"));
}

TEST(Device, RefusesKeysOfAnyDepthBeforeTheyAreRead) {
  std::string deep = "a";
  for (int level = 0; level < 20000; ++level) deep += ".a";
  for (const std::string& text : {deep + " = 1\n", "[" + deep + "]\n", "x = {" + deep + " = 1}\n"}) {
    const auto found = parse_device(text, "deep.toml");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, "E0271");
    EXPECT_EQ(found.error().message, "bad device profile: it has more than 1024 dots");
  }
  const auto large = parse_device(std::string(kMostProfileBytes + 1, '#'), "large.toml");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "bad device profile: it has more than 65536 bytes");
}

TEST(Device, SurvivesEveryTruncation) {
  for (const std::string whole : {kSmall, kLeveled})
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto profile = parse_device(whole.substr(0, size), "cut.toml");
      if (!profile) {
        EXPECT_EQ(profile.error().code, "E0271");
      }
    }
}

void expect_sound(const std::string& text) {
  const auto profile = parse_device(text, "hostile.toml");
  if (!profile) {
    EXPECT_EQ(profile.error().code, "E0271") << text;
    return;
  }
  for (const ClockLevel& level : profile->clocks) {
    EXPECT_FALSE(level.name.empty()) << text;
    EXPECT_TRUE(level.flops_factor > 0 && level.bytes_factor > 0 && level.active_w > 0) << text;
  }
  for (const CacheLevel& cache : profile->compute.caches)
    EXPECT_TRUE(cache.bytes > 0 && cache.bytes_per_s >= profile->compute.bytes_per_s) << text;
  EXPECT_GE(profile->compute.vector_lanes, 1) << text;
}

TEST(Device, SourcesWithHostileKeysAreRefused) {
  for (const std::string key : {"",
                                ".",
                                "..",
                                "[",
                                "]",
                                "[0",
                                "[-1]",
                                "[0]",
                                "compute.",
                                ".compute",
                                "compute..cache",
                                "compute.cache[",
                                "compute.cache[]",
                                "compute.cache[99999999999999999999].bytes",
                                "compute.cache[-1].bytes",
                                "compute.cache[0]",
                                "clock[0].name",
                                "clock.",
                                "clock..active_w",
                                "compute.cache[0].bytes.x",
                                "sources",
                                "sources.ram",
                                "name.x",
                                "\\u0000",
                                "\\n"}) {
    const auto profile =
        parse_device(std::string(kLeveled) + "\"" + key + "\" = \"measured: nothing\"\n", "hostile.toml");
    if (key == "clock[0].name" || key == "sources.ram") continue;  // texts: of no use, and no harm
    ASSERT_FALSE(profile) << key;
    EXPECT_EQ(profile.error().code, "E0271") << key;
  }
}

TEST(Device, SurvivesRandomChanges) {
  std::mt19937 random(7);
  const std::string letters = "0123456789.-+eE\"'[]{}=,_ \n#abcinf@";
  for (const std::string whole : {kSmall, kLeveled})
    for (int trial = 0; trial < 3000; ++trial) {
      std::string text = whole;
      for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
        const size_t at = random() % text.size();
        const char letter = letters[random() % letters.size()];
        if (random() % 3 == 0)
          text.erase(at, 1 + random() % 8);
        else if (random() % 2 == 0)
          text.insert(at, 1, letter);
        else
          text[at] = letter;
      }
      expect_sound(text);
    }
}

}  // namespace
}  // namespace pantoum::cost
