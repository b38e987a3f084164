#include "cost/meters/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "cost/meters/open_meter.h"
#include "testing/meter_tree.h"

namespace pantoum::cost {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRange = 262'143'328'850;

void put_zone(const MeterTree& tree, const std::string& zone, const std::string& name, uint64_t microjoules) {
  const std::string folder = "/sys/class/powercap/" + zone + "/";
  tree.put(folder + "name", name + "\n");
  tree.put(folder + "energy_uj", microjoules);
  tree.put(folder + "max_energy_range_uj", kRange);
}

class Powercap : public ::testing::Test {
 protected:
  void SetUp() override {
    put_zone(tree, "intel-rapl:0", "package-0", 1'000'000);
    put_zone(tree, "intel-rapl:0:0", "core", 500'000);
    put_zone(tree, "intel-rapl:0:1", "uncore", 100'000);
    put_zone(tree, "intel-rapl:0:2", "dram", 300'000);
    put_zone(tree, "intel-rapl:1", "psys", 9'000'000);
    put_zone(tree, "intel-rapl-mmio:0", "package-0", 1'000'000);
    tree.put("/sys/class/powercap/intel-rapl/enabled", "1\n");
  }
  const MeterTree tree{};
  const HandClock clock{};
};

TEST_F(Powercap, CountsPackagesAndMemoryOnce) {
  const auto meter = open_meter("powercap", place_of(tree, clock));
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ((*meter)->label(), "RAPL by powercap (package-0, dram)");
  ASSERT_TRUE((*meter)->begin());
  clock.pass(1);
  for (const char* zone : {"0", "0:0", "0:1", "0:2", "1"})
    put_zone(tree, std::string("intel-rapl:") + zone, zone, 10'000'000);
  EXPECT_NEAR((*meter)->joules().value(), 9.0 + 9.7, 1e-9);
}

TEST_F(Powercap, CountsThroughAWrapOfOneRailAlone) {
  put_zone(tree, "intel-rapl:0", "package-0", kRange - 2'000'000);
  const auto meter = open_meter("powercap", place_of(tree, clock));
  ASSERT_TRUE((*meter)->begin());
  clock.pass(1);
  put_zone(tree, "intel-rapl:0", "package-0", 3'000'000);
  EXPECT_NEAR((*meter)->joules().value(), 5, 1e-9);
}

TEST_F(Powercap, CountsPsysOnlyWhereThereIsNoPackageOrWhereItIsAsked) {
  const auto asked = powercap_source(place_of(tree, clock), "psys");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->label, "RAPL by powercap (psys)");
  for (const char* zone : {"0", "0:0", "0:1", "0:2"})
    tree.remove(std::string("/sys/class/powercap/intel-rapl:") + zone);
  const auto left = powercap_source(place_of(tree, clock), "");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->label, "RAPL by powercap (psys)");
}

TEST_F(Powercap, CountsEverySocket) {
  put_zone(tree, "intel-rapl:2", "package-1", 4);
  put_zone(tree, "intel-rapl:2:0", "dram", 4);
  const auto source = powercap_source(place_of(tree, clock), "");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->label, "RAPL by powercap (package-0, package-1, dram, dram)");
}

TEST_F(Powercap, DoesWithoutMemoryThatIsMissing) {
  tree.remove("/sys/class/powercap/intel-rapl:0:2");
  EXPECT_EQ(powercap_source(place_of(tree, clock), "").value().label, "RAPL by powercap (package-0)");
}

TEST_F(Powercap, RefusesAZoneThatDoesNotTellItsRange) {
  tree.remove("/sys/class/powercap/intel-rapl:0/max_energy_range_uj");
  EXPECT_THAT(powercap_source(place_of(tree, clock), "").error().message, HasSubstr("max_energy_range_uj"));
  tree.put("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", 0);
  EXPECT_FALSE(powercap_source(place_of(tree, clock), ""));
}

TEST_F(Powercap, RefusesFilesThatHoldNoNumber) {
  for (const char* text : {"", "abc", "-5", "1 2", "99999999999999999999999", "0x10", "\x01\x02"}) {
    tree.put("/sys/class/powercap/intel-rapl:0/energy_uj", text);
    const auto source = powercap_source(place_of(tree, clock), "");
    ASSERT_FALSE(source) << text;
    EXPECT_EQ(source.error().code, "E0272");
    EXPECT_THAT(source.error().message, HasSubstr("no whole number"));
  }
}

TEST_F(Powercap, ExplainsWhyItMayNotBeRead) {
  ASSERT_EQ(::chmod(tree.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((tree.root() + "/sys/class/powercap/intel-rapl:0/energy_uj").c_str(), 0), 0);
  const uid_t own = ::geteuid();
  if (own == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }  // root reads everything
  const auto source = powercap_source(place_of(tree, clock), "");
  if (own == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("CVE-2020-8694"));
  EXPECT_THAT(source.error().help, HasSubstr("udev"));
}

TEST_F(Powercap, TellsWhenAZoneVanishesWhileMeasuring) {
  const auto meter = open_meter("powercap", place_of(tree, clock));
  ASSERT_TRUE((*meter)->begin());
  tree.remove("/sys/class/powercap/intel-rapl:0:2");
  clock.pass(1);
  const auto joules = (*meter)->joules();
  ASSERT_FALSE(joules);
  EXPECT_EQ(joules.error().code, "E0909");
  EXPECT_THAT(joules.error().message, HasSubstr("No such file"));
}

TEST_F(Powercap, NamesTheZonesWhereAFilterFitsNone) {
  EXPECT_THAT(powercap_source(place_of(tree, clock), "gpu").error().help, HasSubstr("package-0, core"));
}

class Perf : public ::testing::Test {
 protected:
  void SetUp() override {
    tree.put("/sys/bus/event_source/devices/power/type", "23\n");
    tree.put("/sys/bus/event_source/devices/power/cpumask", "0,18-18\n");
    put_event("energy-pkg", "event=0x02", "2.3283064365386962890625e-10");
    put_event("energy-ram", "event=0x03", "2.3283064365386962890625e-10");
    put_event("energy-psys", "event=0x05", "2.3283064365386962890625e-10");
    tree.put("/proc/sys/kernel/perf_event_paranoid", "4\n");
    place = place_of(tree, clock);
    place.perf = {.open = [this](uint32_t type, uint64_t config, int cpu) -> int {
                    if (type != 23) return -2;
                    counts[static_cast<int>(config) * 100 + cpu] = 1'000'000'000;
                    return static_cast<int>(config) * 100 + cpu;
                  },
                  .read = [this](int descriptor, uint64_t& count) { return count = counts.at(descriptor), 0; },
                  .close = [this](int) { ++closed; }};
  }
  void put_event(const std::string& name, const std::string& config, const std::string& scale) {
    const std::string path = "/sys/bus/event_source/devices/power/events/" + name;
    tree.put(path, config + "\n");
    tree.put(path + ".scale", scale + "\n");
    tree.put(path + ".unit", "Joules\n");
  }
  const MeterTree tree{};
  const HandClock clock{};
  MeterPlace place;
  std::map<int, uint64_t> counts;
  int closed = 0;
};

TEST_F(Perf, ScalesPackageAndMemoryOfEverySocket) {
  {
    const auto meter = open_meter("perf", place);
    ASSERT_TRUE(meter) << meter.error().message;
    EXPECT_EQ((*meter)->label(), "RAPL by perf (energy-pkg, energy-ram, 2 packages)");
    ASSERT_TRUE((*meter)->begin());
    EXPECT_EQ(counts.size(), 4U) << "no psys";
    for (auto& [descriptor, count] : counts) count += uint64_t{1} << 32;
    clock.pass(1);
    EXPECT_NEAR((*meter)->joules().value(), 4, 1e-9);
  }
  EXPECT_EQ(closed, 4);
}

TEST_F(Perf, TakesPsysWhereThatIsAll) {
  tree.remove("/sys/bus/event_source/devices/power/events/energy-pkg");
  EXPECT_THAT(perf_source(place, "").value().label, HasSubstr("energy-psys"));
}

TEST_F(Perf, ExplainsParanoia) {
  place.perf.open = [](uint32_t, uint64_t, int) { return -EACCES; };
  const auto source = perf_source(place, "");
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("kernel.perf_event_paranoid is 4"));
  EXPECT_THAT(source.error().help, HasSubstr("cap_perfmon"));
}

TEST_F(Perf, RefusesEventsThatSayOtherThings) {
  for (const auto& [config, scale] : std::vector<std::pair<std::string, std::string>>{{"event=0x02,umask=0x1", "1e-10"},
                                                                                      {"event=2", "1e-10"},
                                                                                      {"event=0x02", "nan"},
                                                                                      {"event=0x02", "-1"},
                                                                                      {"event=0x02", "inf"},
                                                                                      {"event=0xfffffffff", "1e-10"},
                                                                                      {"", ""}}) {
    put_event("energy-pkg", config, scale);
    EXPECT_FALSE(perf_source(place, "pkg")) << config << " " << scale;
  }
  for (const char* mask : {"", "x", "3-1", "0,", "0-99999999", "-1"}) {
    tree.put("/sys/bus/event_source/devices/power/cpumask", mask);
    EXPECT_FALSE(perf_source(place, "ram")) << mask;
  }
}

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    place = place_of(tree, clock);
    place.nvml = FAKE_NVML;
    ::setenv("FAKE_NVML", (tree.root() + "/state").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("FAKE_NVML"); }
  const MeterTree tree{};
  const HandClock clock{};
  MeterPlace place;
};

TEST_F(Nvml, SumsTheEnergyOfAllGpus) {
  tree.put("/state", "gpus 2\nenergy0 1000\nenergy1 500000\n");
  const auto meter = open_meter("nvml", place);
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ((*meter)->label(), "NVML (GPU 0 Fake 0; GPU 1 Fake 1)");
  ASSERT_TRUE((*meter)->begin());
  tree.put("/state", "gpus 2\nenergy0 5000\nenergy1 510000\n");
  clock.pass(1);
  EXPECT_NEAR((*meter)->joules().value(), 14, 1e-9);
}

TEST_F(Nvml, TakesOneGpu) {
  tree.put("/state", "gpus 2\nenergy0 1000\nenergy1 500000\n");
  EXPECT_EQ(nvml_source(place, "1").value().label, "NVML (GPU 1 Fake 1)");
  for (const char* wrong : {"2", "-1", "x", "1 ", "99999999999"}) EXPECT_FALSE(nvml_source(place, wrong)) << wrong;
}

TEST_F(Nvml, SamplesPowerWhereNoEnergyIsCounted) {
  tree.put("/state", "gpus 1\nenergy_status 3\npower0 150000\n");
  const auto meter = open_meter("nvml", place);
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_THAT((*meter)->label(), HasSubstr("power alone"));
  ASSERT_TRUE((*meter)->begin());
  tree.put("/state", "gpus 1\nenergy_status 3\npower0 250000\n");
  clock.pass(0.1);
  EXPECT_NEAR((*meter)->joules().value(), 20, 1e-9);
}

TEST_F(Nvml, TellsOfAGpuThatIsLostWhileMeasuring) {
  tree.put("/state", "gpus 1\nenergy0 1000\n");
  const auto meter = open_meter("nvml", place);
  ASSERT_TRUE((*meter)->begin());
  tree.put("/state", "gpus 1\nenergy_status 15\n");
  clock.pass(1);
  EXPECT_THAT((*meter)->joules().error().message, HasSubstr("GPU is lost"));
}

TEST_F(Nvml, TellsWhyThereIsNone) {
  tree.put("/state", "init 9\n");
  EXPECT_THAT(nvml_source(place, "").error().message, HasSubstr("Driver Not Loaded"));
  tree.put("/state", "gpus 0\n");
  EXPECT_THAT(nvml_source(place, "").error().message, HasSubstr("no GPU"));
  tree.put("/state", "gpus 4000000000\n");
  EXPECT_FALSE(nvml_source(place, ""));
  place.nvml = "libm.so.6";
  EXPECT_THAT(nvml_source(place, "").error().message, HasSubstr("lacks functions"));
  place.nvml = "libnothing.so";
  EXPECT_THAT(nvml_source(place, "").error().message, HasSubstr("no driver"));
}

class Hwmon : public ::testing::Test {
 protected:
  // Jetson Orin Nano: a total and two of its parts.
  void put_ina(const std::string& hwmon = "hwmon3") {
    const std::string folder = "/sys/class/hwmon/" + hwmon + "/";
    tree.put(folder + "name", "ina3221\n");
    const char* labels[] = {"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"};
    for (int rail = 1; rail <= 3; ++rail) {
      tree.put(folder + "in" + std::to_string(rail) + "_label", std::string(labels[rail - 1]) + "\n");
      tree.put(folder + "in" + std::to_string(rail) + "_input", 5000);
      tree.put(folder + "curr" + std::to_string(rail) + "_input", 1000 * static_cast<uint64_t>(rail));
    }
    tree.put(folder + "in7_label", "sum of shunt voltages\n");
    tree.put(folder + "in7_input", 12);
    tree.put(folder + "curr4_input", 7);  // the sum of currents: no voltage of its own
  }
  const MeterTree tree{};
  const HandClock clock{};
};

TEST_F(Hwmon, CountsTheInputOfAJetsonAlone) {
  put_ina();
  const auto meter = open_meter("hwmon", place_of(tree, clock));
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ((*meter)->label(), "hwmon ina3221 (VDD_IN)");
  ASSERT_TRUE((*meter)->begin());
  clock.pass(0.01);
  EXPECT_NEAR((*meter)->joules().value(), 0.05, 1e-12);
}

TEST_F(Hwmon, IsAsFastAsItsChip) {
  put_ina();
  EXPECT_NEAR(hwmon_source(place_of(tree, clock), "").value().update_s, 0.01, 1e-12);
  tree.put("/sys/class/hwmon/hwmon3/update_interval", "128\n");
  EXPECT_NEAR(hwmon_source(place_of(tree, clock), "").value().update_s, 0.128, 1e-12);
  EXPECT_NEAR(hwmon_source(place_of(tree, clock), "").value().period_s, 0.064, 1e-12);
  for (const char* wrong : {"-5", "99999999999", "x", "0"}) {
    tree.put("/sys/class/hwmon/hwmon3/update_interval", wrong);
    EXPECT_NEAR(hwmon_source(place_of(tree, clock), "").value().update_s, 0.01, 1e-12) << wrong;
  }
}

TEST_F(Hwmon, CountsTheRailsThatAreNamed) {
  put_ina();
  const auto source = hwmon_source(place_of(tree, clock), "ina3221/VDD_SOC+VDD_CPU_GPU_CV");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->label, "hwmon ina3221 (VDD_SOC, VDD_CPU_GPU_CV)");
  const auto missing = hwmon_source(place_of(tree, clock), "ina3221/VDD_GPU");
  EXPECT_THAT(missing.error().message, HasSubstr("no rail 'VDD_GPU'"));
  EXPECT_THAT(missing.error().help, HasSubstr("VDD_IN, VDD_CPU_GPU_CV, VDD_SOC"));
  for (const char* twice : {"ina3221/VDD_SOC+VDD_SOC", "ina3221/VDD_SOC+VDD_CPU_GPU_CV+VDD_SOC"}) {
    const auto counted = hwmon_source(place_of(tree, clock), twice);
    ASSERT_FALSE(counted) << twice;
    EXPECT_EQ(counted.error().code, "E0272");
    EXPECT_THAT(counted.error().message, HasSubstr("'VDD_SOC' is named twice"));
  }
}

TEST_F(Hwmon, NamesPowerByItsVoltage) {
  put_ina();
  for (const char* rail : {"1", "2", "3"})
    tree.put(std::string("/sys/class/hwmon/hwmon3/power") + rail + "_input", 5'000'000);
  EXPECT_EQ(hwmon_source(place_of(tree, clock), "").value().label, "hwmon ina3221 (VDD_IN)");
}

TEST_F(Hwmon, SumsRailsOfTwoChips) {
  put_ina("hwmon3"), put_ina("hwmon4");
  const auto source = hwmon_source(place_of(tree, clock), "ina3221/VDD_SOC");
  ASSERT_TRUE(source);
  EXPECT_EQ(hwmon_source(place_of(tree, clock), "").value().label, "hwmon ina3221 (VDD_IN, VDD_IN)");
}

TEST_F(Hwmon, SumsRailsWhereThereIsNoTotal) {
  put_ina();
  for (const char* file : {"in1_input", "curr1_input", "in1_label"})
    tree.remove(std::string("/sys/class/hwmon/hwmon3/") + file);
  EXPECT_EQ(hwmon_source(place_of(tree, clock), "").value().label, "hwmon ina3221 (VDD_CPU_GPU_CV, VDD_SOC)");
  tree.put("/sys/class/hwmon/hwmon3/in3_enable", "0\n");
  EXPECT_EQ(hwmon_source(place_of(tree, clock), "").value().label, "hwmon ina3221 (VDD_CPU_GPU_CV)");
}

TEST_F(Hwmon, ReadsTheOlderDriverOfTheTx2) {
  const std::string folder = "/sys/bus/iio/devices/iio:device0/";
  tree.put(folder + "name", "ina3221x\n");
  tree.put(folder + "rail_name_0", "VDD_SYS_GPU\n");
  tree.put(folder + "in_power0_input", 2000);
  tree.put(folder + "rail_name_1", "VDD_IN\n");
  tree.put(folder + "in_power1_input", 7500);
  const auto source = hwmon_source(place_of(tree, clock), "");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->label, "hwmon ina3221 (VDD_IN)");
  EXPECT_NEAR(source->rails.front().watts().value(), 7.5, 1e-12);
}

TEST_F(Hwmon, TellsWhenARailVanishesOrTurnsToGarbage) {
  put_ina();
  for (const bool vanish : {true, false}) {
    const auto meter = open_meter("hwmon:ina3221", place_of(tree, clock));
    ASSERT_TRUE((*meter)->begin());
    vanish ? tree.remove("/sys/class/hwmon/hwmon3/curr1_input") : tree.put("/sys/class/hwmon/hwmon3/curr1_input", "?");
    clock.pass(0.01);
    EXPECT_EQ((*meter)->joules().error().code, "E0909");
    put_ina();
  }
}

TEST_F(Hwmon, PrefersEnergyAndCountsSocketsNotTheirCores) {
  const std::string folder = "/sys/class/hwmon/hwmon0/";
  tree.put(folder + "name", "amd_energy\n");
  for (const int core : {1, 2}) {
    tree.put(folder + "energy" + std::to_string(core) + "_label", "Ecore00" + std::to_string(core) + "\n");
    tree.put(folder + "energy" + std::to_string(core) + "_input", 5);
  }
  tree.put(folder + "energy3_label", "Esocket0\n");
  tree.put(folder + "energy3_input", 1'000'000);
  tree.put(folder + "power1_input", 1);
  const auto meter = open_meter("auto", place_of(tree, clock));
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ((*meter)->label(), "hwmon amd_energy (Esocket0)");
  ASSERT_TRUE((*meter)->begin());
  tree.put(folder + "energy3_input", 6'000'000);
  clock.pass(1);
  EXPECT_NEAR((*meter)->joules().value(), 5, 1e-9);
}

TEST_F(Hwmon, AsksWhichOfSeveralChips) {
  for (const char* chip : {"amdgpu", "corsairpsu"}) {
    tree.put(std::string("/sys/class/hwmon/") + chip + "/name", std::string(chip) + "\n");
    tree.put(std::string("/sys/class/hwmon/") + chip + "/power1_average", 12'000'000);
  }
  EXPECT_THAT(hwmon_source(place_of(tree, clock), "").error().message, HasSubstr("amdgpu, corsairpsu"));
  EXPECT_NEAR(hwmon_source(place_of(tree, clock), "amdgpu").value().rails.front().watts().value(), 12, 1e-9);
  tree.remove("/sys/class/hwmon/corsairpsu");
  EXPECT_TRUE(open_meter("hwmon", place_of(tree, clock)));
  EXPECT_FALSE(open_meter("auto", place_of(tree, clock))) << "a GPU does not compute what is measured";
}

class Battery : public ::testing::Test {
 protected:
  void SetUp() override {
    put("type", "Battery\n"), put("status", "Discharging\n"), put("voltage_now", "12000000\n");
    tree.put("/sys/class/power_supply/AC/type", "Mains\n");
    tree.put("/sys/class/power_supply/AC/online", "0\n");
  }
  void put(const std::string& file, const std::string& text) const {
    tree.put("/sys/class/power_supply/BAT0/" + file, text);
  }
  const MeterTree tree{};
  const HandClock clock{};
};

TEST_F(Battery, SamplesPowerWhateverItsSign) {
  put("power_now", "-15000000\n");
  const auto meter = open_meter("battery", place_of(tree, clock));
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_TRUE((*meter)->begin());
  clock.pass(0.5);
  put("power_now", "25000000\n");
  EXPECT_NEAR((*meter)->joules().value(), 10, 1e-9);
}

TEST_F(Battery, MultipliesCurrentAndVoltage) {
  put("current_now", "2000000\n");
  EXPECT_NEAR(battery_source(place_of(tree, clock), "").value().rails.front().watts().value(), 24, 1e-9);
}

TEST_F(Battery, CountsWhatLeavesIt) {
  for (const char* file : {"energy_now", "charge_now"}) {
    put(file, "40000000\n");
    const auto meter = open_meter("battery", place_of(tree, clock));
    ASSERT_TRUE(meter) << meter.error().message;
    EXPECT_THAT((*meter)->label(), HasSubstr("by its charge"));
    ASSERT_TRUE((*meter)->begin());
    clock.pass(60);
    put(file, "39990000\n");  // 10 mWh, or 10 mAh at 12 V
    EXPECT_NEAR((*meter)->joules().value(), std::string(file) == "energy_now" ? 36 : 432, 0.01) << file;
    tree.remove(std::string("/sys/class/power_supply/BAT0/") + file);
  }
}

TEST_F(Battery, RefusesUnlessItDischarges) {
  put("power_now", "15000000\n");
  const auto refused = [&](const char* what) {
    const auto source = battery_source(place_of(tree, clock), "");
    ASSERT_FALSE(source) << what;
    EXPECT_EQ(source.error().code, "E0272");
    EXPECT_THAT(source.error().message, HasSubstr(what));
    EXPECT_THAT(source.error().help, HasSubstr("unplug"));
  };
  put("status", "Charging\n"), refused("BAT0 is being charged");
  put("status", "Full\n"), refused("no battery is discharging (Full)");
  put("status", "Discharging\n");
  tree.put("/sys/class/power_supply/AC/online", "1\n"), refused("AC is plugged in");
}

TEST_F(Battery, TellsWhenItIsPluggedInWhileMeasuring) {
  put("power_now", "15000000\n");
  const auto meter = open_meter("battery", place_of(tree, clock));
  ASSERT_TRUE((*meter)->begin());
  tree.put("/sys/class/power_supply/AC/online", "1\n");
  clock.pass(0.5);
  EXPECT_EQ((*meter)->joules().error().code, "E0909");
}

TEST_F(Battery, IsNotTheOneOfAMouse) {
  put("power_now", "15000000\n"), put("scope", "Device\n");
  EXPECT_THAT(battery_source(place_of(tree, clock), "").error().message, HasSubstr("no battery"));
}

TEST_F(Battery, SaysWhatItLacks) {
  EXPECT_THAT(battery_source(place_of(tree, clock), "").error().message, HasSubstr("neither power"));
}

TEST(OpenMeter, TellsOfEveryKindWhyThereIsNone) {
  const MeterTree tree{};
  const HandClock clock{};
  const auto meter = open_meter("auto", place_of(tree, clock));
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().code, "E0272");
  EXPECT_EQ(meter.error().notes.size(), 4U);
  const auto found = find_meters(place_of(tree, clock));
  EXPECT_EQ(found.size(), 5U);
  for (const MeterFinding& each : found) {
    EXPECT_FALSE(each.usable) << each.word;
    EXPECT_FALSE(each.label.empty() || each.help.empty()) << each.word;
  }
}

TEST(OpenMeter, RefusesWordsThatAreNone) {
  const MeterTree tree{};
  const HandClock clock{};
  for (const char* word : {"", "rapll", "csv:a.csv", "Powercap", ":", "auto:x"})
    EXPECT_EQ(open_meter(word, place_of(tree, clock)).error().code, "E0124") << word;
}

TEST(OpenMeter, FindsWhatThisMachineHasWithoutFailing) {
  EXPECT_EQ(find_meters().size(), 5U);
}

}  // namespace
}  // namespace pantoum::cost
