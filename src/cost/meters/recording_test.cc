#include "cost/meters/recording.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "testing/temporary_folder.h"

namespace pantoum::cost {
namespace {

using ::testing::HasSubstr;

class Recorded : public ::testing::Test {
 protected:
  Result<Recording> read(const std::string& text, const std::string& keys = "") {
    const std::string file = folder.file("a.csv");
    std::ofstream(file, std::ios::binary) << text;
    PANTOUM_ASSIGN(const RecordingWord word, read_recording_word("csv:" + file + keys));
    return read_recording(word);
  }
  void expect_refused(const std::string& text, const std::string& why, const std::string& keys = "") {
    const auto read_it = read(text, keys);
    ASSERT_FALSE(read_it) << why;
    EXPECT_THAT(read_it.error().message + " " + read_it.error().where, HasSubstr(why)) << text.substr(0, 200);
    EXPECT_FALSE(read_it.error().help.empty());
  }
  const TemporaryFolder folder;
};

// 0.1 s of idle watts, 0.2 s of busy ones with the trigger high, 0.1 s of idle ones; `row` makes the row of each.
template <class Row>
std::string run_of(const std::string& header, Row row, double idle = 1, double busy = 3) {
  std::string text = header + "\n";
  for (int at = 0; at <= 400; ++at) {
    const bool high = at >= 100 && at < 300;
    text += row(at * 1e-3, high ? busy : idle, high) + "\n";
  }
  return text;
}

std::string plain() {
  return run_of("time,power,gpio", [](double t, double w, bool high) { return fmt::format("{},{},{:d}", t, w, high); });
}

// 199 steps at 3 W, and the one in which the power falls to 1 W.
constexpr double kJoules = 0.199 * 3 + 0.001 * 2;

TEST_F(Recorded, KnowsWhatInstrumentsCallTheirColumns) {
  using Row = std::function<std::string(double, double, bool)>;
  const std::vector<std::tuple<std::string, Row, std::string>> kinds{
      {"#time,current,voltage,power,charge,energy",  // Joulescope
       [](double t, double w, bool high) { return fmt::format("{},{},3,{},{:d},0", t, w / 3, w, high); },
       ",trigger=charge"},
      {"Timestamp(ms),Current(uA),D0-D7",  // PPK2
       [](double t, double w, bool high) { return fmt::format("{},{},0{:d}000001", t * 1e3, w / 3 * 1e6, high); },
       ",volts=3,trigger=D1"},
      {"Timestamp(ms),Current(uA),D0,D1,D2,D3,D4,D5,D6,D7",
       [](double t, double w, bool high) {
         return fmt::format("{},{},1,0,{:d},0,0,0,0,0", t * 1e3, w / 3 * 1e6, high);
       },
       ",volts=3V,trigger=D2"},
      {"Time(ms),Main(mA),USB(mA),Aux(mA),Main Voltage(V),USB Voltage(V)",  // Monsoon's library
       [](double t, double w, bool high) { return fmt::format("{},{},9,{:d},4,5", t * 1e3, w / 4 * 1e3, high); },
       ",trigger=Aux(mA)"},
      {"Time (s),Main Avg Current (mA),Main Avg Power (mW),Main Avg Voltage (V),Aux",  // PowerTool
       [](double t, double w, bool high) { return fmt::format("{},7,{},4,{:d}", t, w * 1e3, high); }, ",trigger=Aux"},
      {"Timestamp,Main Current (A),Main Voltage (V),GPI 1",  // Otii
       [](double t, double w, bool high) { return fmt::format("{},{},4,{:d}", t, w / 4, high); }, ",trigger=GPI 1"},
      {"Timestamp[ms],BusV[V],ShuntV[mV],LoadV[V],Current[mA],pin",  // an INA219 on an Arduino
       [](double t, double w, bool high) { return fmt::format("{},5,2,5.002,{},{:d}", t * 1e3, w / 5 * 1e3, high); },
       ",voltage=BusV[V],trigger=pin"},
      {"time_ms,bus_voltage_V,shunt_voltage_mV,current_mA,load_voltage_V,pin",
       [](double t, double w, bool high) { return fmt::format("{},5,2,{},5.002,{:d}", t * 1e3, w / 5 * 1e3, high); },
       ",trigger=pin"},
      {"time_ms;power_mW;pin",  // decimal commas
       [](double t, double w, bool high) {
         std::string row = fmt::format("{:.3f};{:.3f};{:d}", t * 1e3, w * 1e3, high);
         return std::replace(row.begin(), row.end(), '.', ','), row;
       },
       ",trigger=pin"},
      {"\xef\xbb\xbf\"Time (s)\"\t\"Power, total (W)\"\tpin",
       [](double t, double w, bool high) { return fmt::format("{}\t{}\t{:d}\r", t, w, high); }, ",trigger=pin"}};
  for (const auto& [header, row, keys] : kinds) {
    const auto recording = read(run_of(header, row), keys);
    ASSERT_TRUE(recording) << header << ": " << recording.error().message;
    EXPECT_NEAR(recording->joules(), kJoules, 1e-4) << header;
    EXPECT_NEAR(recording->seconds(), 0.2, 1e-9) << header;
    EXPECT_NEAR(recording->idle_w.value(), 1, 0.05) << header;
    EXPECT_NEAR(recording->period_s, 1e-3, 1e-9) << header;
    EXPECT_EQ(recording->gaps, 0) << header;
  }
}

// The joules of 1 s at a power of 1 and a voltage of 1, in units of the names' own.
std::string of_names(const std::string& time, const std::string& power, const std::string& voltage = "") {
  std::string text = fmt::format("{},{}{}\n", time, power, voltage.empty() ? "" : "," + voltage);
  for (int at = 0; at <= 100; ++at) text += fmt::format("{},1{}\n", at, voltage.empty() ? "" : ",1");
  return text;
}

TEST_F(Recorded, RefusesUnitsThatItDoesNotKnow) {
  const std::vector<std::tuple<std::string, std::string, std::string>> names{
      {"time", "Power (kW)", "'kW' of the column 'Power (kW)' is no unit of power that is known"},
      {"time", "power_kW", "'kW'"},
      {"time", "power_MW", "'MW'"},
      {"time", "Power [MW]", "'MW'"},
      {"time", "Power (kW) (total)", "'kW'"},
      {"time", "kW power", "'kW'"},
      {"time", "Power (%)", "'%'"},
      {"time", "Power (hp)", "'hp'"},
      {"time", "Power (x10 mW)", "'x10'"},
      {"time", "Power (10 mW)", "'10 mW'"},
      {"time", "Power (W/m2)", "'W/m2'"},
      {"time", "Power (A)", "'A'"},
      {"time", "power_mV", "'mV'"},
      {"Time (min)", "power", "'min' of the column 'Time (min)' is no unit of time that is known"},
      {"time_h", "power", "'h'"},
      {"time_min", "power", "'min'"},
      {"Time (hh:mm:ss)", "power", "'hh'"},
      {"Time (ticks)", "power", "'ticks'"}};
  for (const auto& [time, power, why] : names) expect_refused(of_names(time, power), why);
  expect_refused(of_names("Time(s)", "Main(mA)", "Main Voltage(kV)"), "'kV'");
  expect_refused(of_names("Time(s)", "Main(kA)", "Main Voltage(V)"), "no column is known to be power or current");
  expect_refused(of_names("time", "current_mV", "voltage"), "'mV'");
  EXPECT_EQ(read(of_names("time", "power_kW")).error().help,
            "known are W, mW, uW, nW: export it in one of them, or say which it is: csv:FILE,power_unit=UNIT");
  EXPECT_NEAR(read(of_names("time", "power_kW"), ",power_unit=mW").value().joules(), 0.1, 1e-9) << "the word says it";
}

TEST_F(Recorded, KnowsUnitsHoweverTheyAreWritten) {
  const std::vector<std::tuple<std::string, std::string, double>> names{
      {"time", "power", 100},
      {"time", "Power (CH1)", 100},
      {"time", "Power, total", 100},
      {"Time (relative)", "Power (avg)", 100},
      {"Time ()", "power_a", 100},
      {"TIME_MS", "Power [Watts]", 0.1},
      {"Time (milliseconds)", "power milliwatts", 1e-4},
      {"Time (seconds since 1970-01-01)", "Power (avg mW)", 0.1},
      {"Timestamp [\xce\xbcs]", "Power (\xc2\xb5W)", 1e-10},
      {"timestamp(us)", "Total power in mW", 1e-7},
      {"elapsed_us", "power_mW_filtered", 1e-7},
      {"Time (s)", "Main Avg Power (mW)", 0.1},
      {"t", "P (mW)", 0.1}};
  for (const auto& [time, power, joules] : names) {
    const auto recording = read(of_names(time, power));
    ASSERT_TRUE(recording) << time << "," << power << ": " << recording.error().message;
    EXPECT_NEAR(recording->joules() / joules, 1, 1e-9) << time << "," << power;
  }
  for (const auto& [current, voltage] :
       {std::pair("Main Current (A)", "Main Voltage (V)"), std::pair("current", "voltage"),
        std::pair("I (amps)", "V (volts)"), std::pair("Arc Current (ampere)", "Voltage [V]")})
    EXPECT_NEAR(read(of_names("Timestamp", current, voltage)).value().joules(), 100, 1e-9) << current;
}

TEST_F(Recorded, CountsEveryWindow) {
  std::string text = "time,power,trigger\n";
  for (int at = 0; at < 1000; ++at) text += fmt::format("{},2,{}\n", at * 0.01, at % 100 >= 50 && at < 990 ? 1 : 0);
  const auto recording = read(text, ",trigger=trigger");
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->windows.size(), 10U);
  EXPECT_NEAR(recording->windows[3].begin_s, 3.5, 1e-9);
  EXPECT_NEAR(recording->windows[3].joules, 1, 1e-9);
  EXPECT_NEAR(recording->idle_s, 0.49, 1e-9);
}

TEST_F(Recorded, TakesAllOfItWithoutATrigger) {
  const auto recording = read(plain());
  ASSERT_TRUE(recording);
  EXPECT_FALSE(recording->triggered);
  EXPECT_FALSE(recording->idle_w) << "which part is idle is not known";
  EXPECT_NEAR(recording->seconds(), 0.4, 1e-9);
}

TEST_F(Recorded, ReadsFilesWithoutAHeaderByNumbers) {
  std::string text = "Measuring voltage and current with INA219 ...\n\n";
  for (int at = 0; at < 100; ++at) text += fmt::format("{},5.0,200\n", at * 10);
  const auto recording = read(text, ",time=#1,time_unit=ms,voltage=#2,current=#3,current_unit=mA");
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_NEAR(recording->joules(), 0.99, 1e-9);
}

TEST_F(Recorded, BridgesLostSamplesAndTellsThem) {
  std::string text = "time,power\n";
  for (int at = 0; at < 100; ++at)
    if (at < 50 || at > 54) text += fmt::format("{},{}\n", at * 0.01, at == 20 ? "nan" : at == 30 ? "" : "2");
  const auto recording = read(text);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->gaps, 3);
  EXPECT_EQ(recording->lost_samples, 7);
  EXPECT_NEAR(recording->joules(), 1.98, 1e-9);
}

TEST_F(Recorded, RefusesGapsThatAreTooLongUnlessAllowed) {
  std::string text = "time,power,pin\n";
  for (int at = 0; at < 300; ++at)
    if (at < 150 || at > 180) text += fmt::format("{},2,{}\n", at * 0.01, at > 100 && at < 200 ? 1 : 0);
  expect_refused(text, "no sample for 320.0 ms after line 151", ",trigger=pin");
  expect_refused(text, "line 152");
  EXPECT_NEAR(read(text, ",trigger=pin,gap=0.5").value().joules(), 1.98, 1e-9);
  // Beside the windows nothing is counted.
  std::string beside = "time,power,pin\n";
  for (int at = 0; at < 300; ++at)
    if (at < 20 || at > 70) beside += fmt::format("{},2,{}\n", at * 0.01, at > 100 && at < 200 ? 1 : 0);
  EXPECT_NEAR(read(beside, ",trigger=pin").value().joules(), 1.98, 1e-9);
}

// 1 W, but 3 W where the trigger is high: 0.200 to 0.600 s, and 0.700 to 0.800 s with `two`. Rows in between the two times
// are missing, or have no power where `rows`.
std::string with_gap(int after, int before, bool two = false, bool rows = false) {
  std::string text = "time,power,gpio\n";
  for (int at = 0; at < 1000; ++at) {
    const bool high = (at >= 200 && at < 600) || (two && at >= 700 && at < 800), lost = at > after && at < before;
    if (!lost || rows) text += fmt::format("{:.3f},{},{:d}\n", at * 1e-3, lost ? "" : high ? "3" : "1", high);
  }
  return text;
}

TEST_F(Recorded, RefusesLongGapsOverEitherEdgeAndBetweenWindows) {
  const std::string on = ",trigger=gpio";
  for (const bool rows : {false, true}) {
    expect_refused(with_gap(100, 550, false, rows), "no sample for 450.0 ms after line 102, over the trigger's rise",
                   on);
    expect_refused(with_gap(190, 202, false, rows), "over the trigger's rise", on);
    expect_refused(with_gap(200, 250, false, rows), "no sample for 50.0 ms after line 202, within the run", on);
    expect_refused(with_gap(300, 400, false, rows), "within the run", on);
    expect_refused(with_gap(550, 650, false, rows), "within the run", on);
    expect_refused(with_gap(550, 750, true, rows), "within the run", on);
    expect_refused(with_gap(610, 690, true, rows), "no sample for 80.0 ms after line 612, between windows", on);
    for (const auto& [after, before] : {std::pair(50, 150), std::pair(650, 900)})
      EXPECT_NEAR(read(with_gap(after, before, false, rows), on).value().joules(), 1.2, 2e-3) << after;
  }
  expect_refused(with_gap(100, 700), "never rises", on);
  expect_refused(with_gap(690, 850, true, true), "the trigger was high after line 692, where no row has a value", on);
}

TEST_F(Recorded, PutsAnEdgeThatNoSampleSawIntoTheMiddleOfItsGap) {
  const std::string on = ",trigger=gpio,gap=1";
  EXPECT_NEAR(read(with_gap(100, 300), on).value().seconds(), 0.4, 1e-3);
  EXPECT_NEAR(read(with_gap(100, 300), on).value().joules(), 1.2 - 0.05, 3e-3)
      << "the watts rise along a straight line";
  EXPECT_NEAR(read(with_gap(500, 700), on).value().seconds(), 0.4, 1e-3);
  EXPECT_NEAR(read(with_gap(500, 700), on).value().joules(), 1.2 - 0.05, 3e-3);
  EXPECT_NEAR(read(with_gap(300, 500), on).value().joules(), 1.2, 2e-3);
  EXPECT_NEAR(read(with_gap(610, 690, true), on).value().joules(), 1.5, 3e-3);
  // Few enough to be bridged without being asked.
  const Recording few = read(with_gap(195, 205), ",trigger=gpio").value();
  EXPECT_EQ(few.gaps, 1);
  EXPECT_EQ(few.lost_samples, 9);
  EXPECT_NEAR(few.seconds(), 0.4, 1e-3);
  EXPECT_NEAR(few.joules(), 1.2, 5e-3);
}

TEST_F(Recorded, RefusesAClockThatGoesBackOrLeaps) {
  std::string back = "time,power\n", leap = back, huge = back;
  for (int at = 0; at < 100; ++at) {
    back += fmt::format("{},2\n", at < 50 ? at * 0.01 : at * 0.01 - 0.3);
    leap += fmt::format("{},2\n", at < 50 ? at * 0.01 : at * 0.01 + 3600);
    huge += fmt::format("{},2\n", at == 50 ? 1e300 : at * 0.01);
  }
  expect_refused(back, "the time goes back by 290.0 ms");
  expect_refused(back, "line 52");
  expect_refused(leap, "no sample for");
  expect_refused(huge, "'1e+300' is no time");
}

TEST_F(Recorded, FollowsALoggersCounterThroughSeveralWraps) {
  std::string text = "time_us,power_W\n";
  const uint64_t step = 100'000'000;  // 100 s: a turn of the counter is 4295 s
  for (uint64_t at = 0; at < 200; ++at) text += fmt::format("{},2\n", (at * step) & 0xffffffffU);
  const auto recording = read(text);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->clock_wraps, 4);
  EXPECT_NEAR(recording->joules(), 199 * 200.0, 1e-6);
}

TEST_F(Recorded, RefusesTriggersThatCutTheRun) {
  const auto with = [](auto high) {
    return run_of("time,power,pin", [&](double t, double w, bool) { return fmt::format("{},{},{:d}", t, w, high(t)); });
  };
  expect_refused(with([](double) { return false; }), "never rises", ",trigger=pin");
  expect_refused(with([](double) { return true; }), "high from the first sample", ",trigger=pin");
  expect_refused(with([](double t) { return t > 0.2; }), "still high at the end", ",trigger=pin");
  expect_refused("time,power,pin\n0,1,0\n1,1,maybe\n", "'maybe' is no state of a trigger", ",trigger=pin");
  expect_refused("Timestamp(ms),Current(uA),D0-D7\n0,1,000\n", "no state of a trigger", ",volts=3,trigger=D1");
}

TEST_F(Recorded, CountsNegativePowerAndRefusesNegativeEnergy) {
  std::string noise = "time,power\n", swapped = noise;
  for (int at = 0; at < 100; ++at) {
    noise += fmt::format("{},{}\n", at * 0.01, at % 2 == 0 ? 0.3 : -0.1);
    swapped += fmt::format("{},-2\n", at * 0.01);
  }
  const auto recording = read(noise);
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->negative, 50);
  EXPECT_NEAR(recording->joules(), 0.099, 1e-6);
  expect_refused(swapped, "the windows hold -1.98 J");
}

TEST_F(Recorded, RefusesWhatIsNoRecording) {
  expect_refused("", "the file is empty");
  expect_refused("\n\n\n", "no line names columns");
  expect_refused("time,power\n", "fewer than two samples");
  expect_refused("time,power\n0,1\n", "fewer than two samples");
  expect_refused("time,power\n0,1\n1,x\n2,1\n", "'x' is no power");
  expect_refused("time,power\n0,1\n2020-01-01 10:00,1\n2,1\n", "is no time");
  expect_refused("time,power\n0,1\n1\n2,1\n", "1 fields, where 2 are needed");
  expect_refused("time,power\n0,1\n1,1e12\n2,1\n", "which no board takes");
  expect_refused("time,power\n0,1\n1,1e999\n2,1\n", "which no board takes");
  expect_refused("time,power\n0,inf\n1,1\n2,1\n", "which no board takes");
  expect_refused("time,power\n0,nan\n1,nan\n2,nan\n", "fewer than two samples");
  expect_refused(std::string("time,power\n0,1\n1,\0 1\n", 21), "a byte of 0");
  expect_refused("time,power\n" + std::string(1 << 17, '1') + "\n", "more than 65536 bytes");
  expect_refused("time," + std::string(5000, ',') + "power\n", "more than 1024 columns");
  expect_refused("time,power\n0,1,5\n1,1,5\n", "3 fields, where 2 are named");
  expect_refused("0,1\n1,1\n2,1,5\n", "3 fields, where 2 are named", ",time=#1,power=#2");
  expect_refused("time,voltage\n0,1\n1,1\n", "no column is known to be power or current");
  expect_refused("time,current\n0,1\n1,1\n", "a current and no voltage");
  expect_refused("a,b\n0,1\n1,1\n", "no column is known to be the time");
  expect_refused("time,power_a,power_b\n0,1,1\n1,1,1\n", "several columns may be the power");
  expect_refused("time,power\n0,1\n1,1\n", "no column 'watts'", ",power=watts");
  expect_refused("time,power\n0,1\n1,1\n", "no column '#9'", ",power=#9");
  expect_refused("time,power\n0,1\n1,1\n", "no column 'D3'", ",trigger=D3");
  expect_refused("Time(ms),Power(W)\n0.0000,1\n0.0002,1\n0.0004,1\n",
                 "samples every 200 ns: no instrument is that fast");
  expect_refused("time,power\n0.000,1\n0.001,1\n0.002,1\n", "samples every 0.001 ns", ",time_unit=ns");
  const auto none = read_recording(read_recording_word("csv:/nowhere/a.csv").value());
  EXPECT_EQ(none.error().code, "E0273");
  EXPECT_THAT(none.error().message, HasSubstr("No such file"));
  EXPECT_FALSE(read_recording(read_recording_word("csv:" + folder.path().string()).value()));
}

TEST_F(Recorded, TakesAFileThatIsStillWritten) {
  EXPECT_NEAR(read("time,power\n0,1\n1,1\n2,1\n3").value().joules(), 2, 1e-9);
}

TEST_F(Recorded, NeverFailsOnRandomBytes) {
  std::mt19937 random(3);
  const std::string letters = "0123456789.,;\t\n\r\"#-+eEnaif timepowr()\xef\xbb\xbf";
  const std::string whole = plain();
  int read_well = 0;
  for (int round = 0; round < 600; ++round) {
    std::string text = round % 2 == 0 ? "time,power,pin\n0,1,0\n" : whole.substr(0, random() % 400);
    for (auto at = random() % 200; at > 0; --at) text += letters[random() % letters.size()];
    const auto recording = read(text, round % 3 == 0 ? ",trigger=pin" : "");
    if (recording) {
      ++read_well;
      EXPECT_TRUE(std::isfinite(recording->joules()) && recording->joules() > 0) << text;
      EXPECT_GE(recording->seconds(), 0) << text;
    } else {
      EXPECT_EQ(recording.error().code, "E0273");
    }
  }
  EXPECT_GT(read_well, 5);
}

TEST_F(Recorded, SumsAnyShapeAsTrapezoidsDo) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::string text = "time,power\n";
    double at = 0, last = 0, joules = 0;
    for (int row = 0; row < 200; ++row) {
      const double passed = row == 0 ? 0 : 0.01 * (1 + 0.3 * uniform(random)), watts = 5 * uniform(random);
      at += passed;
      if (row > 0) joules += passed * (last + watts) / 2;
      last = watts;
      text += fmt::format("{:.17g},{:.17g}\n", at, watts);
    }
    EXPECT_NEAR(read(text).value().joules(), joules, 1e-9 * joules);
  }
}

TEST(RecordingWords, AreReadAndRefused) {
  const auto word = read_recording_word("csv:/a,b/c=d.csv,time=T (s),power=Power, total,gap=0.5s,power_unit=mW");
  ASSERT_TRUE(word) << word.error().message;
  EXPECT_EQ(word->file, "/a,b/c=d.csv");
  EXPECT_EQ(word->column[Quantity::kPower], "Power, total");
  EXPECT_EQ(word->gap_s, 0.5);
  for (const char* wrong : {"csv:", "csv:,time=a", "csv:f,time=", "csv:f,volts=0", "csv:f,volts=-3", "csv:f,volts=x",
                            "csv:f,volts=inf", "csv:f,gap=1h", "csv:f,time=a,time=b", "csv:f,volts=3,volts=3",
                            "csv:f,power=a,current=b", "csv:f,power=a,volts=3", "csv:f,voltage=a,volts=3",
                            "csv:f,time_unit=parsec", "csv:f,power_unit=ms", "csv:f,colour=red", "csv:f,power_unit=MW"})
    EXPECT_EQ(read_recording_word(wrong).error().code, "E0124") << wrong;
}

TEST(RecordingWords, TellKeysThatAreSlips) {
  const std::vector<std::pair<std::string, std::string>> slips{
      {"csv:r.csv,Trigger=gpio", "'Trigger' is no key: write trigger="},
      {"csv:r.csv, trigger=gpio", "' trigger' is no key: write trigger="},
      {"csv:r.csv,trigger =gpio", "'trigger ' is no key: write trigger="},
      {"csv:r.csv,TIME_UNIT=ms,trigger=gpio", "'TIME_UNIT' is no key: write time_unit="},
      {"csv:r.csv,trigger=gpio, Volts=3", "' Volts' is no key: write volts="},
      {"csv:r.csv,trigger=gpio,Colour=red", "'Colour' is no key"},
      {"csv:r.csv,colour=red,x", "'colour' is no key"},
      {"csv:r.csv,=3", "'' is no key"},
      {"csv:r.csv,trigger", "trigger has no value: trigger=..."},
      {"csv:r.csv,", "a comma has nothing behind it"},
      {"csv:r.csv,trigger=gpio,", "a comma has nothing behind it"},
      {"csv:r.csv,power_unit=kW", "'kW' is no unit of power: known are W, mW, uW, nW"}};
  for (const auto& [word, message] : slips) EXPECT_EQ(read_recording_word(word).error().message, message) << word;
  EXPECT_EQ(read_recording_word("csv:run 1,of 2.csv,trigger= GPI 1").value().file, "run 1,of 2.csv");
  EXPECT_EQ(read_recording_word("csv:run 1,of 2.csv,trigger= GPI 1").value().trigger, "GPI 1");
}

}  // namespace
}  // namespace pantoum::cost
