#include "host/processors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <random>

#include "host/thread_pool.h"
#include "testing/temporary_folder.h"

namespace pantoum::host {
namespace {

std::vector<int> first(int count) {
  std::vector<int> processors(static_cast<size_t>(count));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}

// A tree like /sys/devices.
class Tree {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = folder_.path() / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  void capacity(int processor, const std::string& text) const { of(processor, "cpu_capacity", text); }
  void clock(int processor, const std::string& text) const { of(processor, "cpufreq/cpuinfo_max_freq", text); }
  void capacities(const std::vector<int>& all) const {
    for (size_t at = 0; at < all.size(); ++at) capacity(static_cast<int>(at), std::to_string(all[at]) + "\n");
  }
  [[nodiscard]] std::vector<Cluster> clusters(const std::vector<int>& processors) const {
    return clusters_of(processors, folder_.path().string());
  }
  // "cpu4-7 cpu0-3"
  [[nodiscard]] std::string names(const std::vector<int>& processors) const {
    std::string text;
    for (const Cluster& cluster : clusters(processors)) text += (text.empty() ? "" : " ") + name_of(cluster.processors);
    return text;
  }

 private:
  void of(int processor, const std::string& file, const std::string& text) const {
    write("system/cpu/cpu" + std::to_string(processor) + "/" + file, text);
  }
  TemporaryFolder folder_;
};

TEST(Processors, OfOneSpeedAreOneCluster) {
  const Tree pi4;  // four Cortex-A72; a Raspberry Pi tells clocks and no capacity
  for (int each = 0; each < 4; ++each) pi4.clock(each, "1500000\n");
  EXPECT_EQ(pi4.names(first(4)), "cpu0-3");
  const Tree pi5;  // four Cortex-A76, with both
  for (int each = 0; each < 4; ++each) pi5.clock(each, "2400000\n"), pi5.capacity(each, "1024\n");
  EXPECT_EQ(pi5.names(first(4)), "cpu0-3");
  const Tree silent;  // a virtual machine tells nothing
  EXPECT_EQ(silent.names(first(64)), "cpu0-63");
  for (const Tree* const tree : {&pi4, &pi5, &silent})
    for (const int threads : {1, 3, 4, 9})
      for (const Place& place : team_on(tree->clusters(first(4)), threads)) EXPECT_TRUE(place.processors.empty());
}

TEST(Processors, OfPhonesAreClustersTheStrongestFirst) {
  const Tree four_and_four;
  four_and_four.capacities({446, 446, 446, 446, 1024, 1024, 1024, 1024});
  EXPECT_EQ(four_and_four.names(first(8)), "cpu4-7 cpu0-3");
  const Tree one_three_four;  // the fastest is of the kind of the next three, at a higher clock
  one_three_four.capacities({384, 384, 384, 384, 871, 871, 871, 1024});
  EXPECT_EQ(one_three_four.names(first(8)), "cpu4-7 cpu0-3");
  EXPECT_EQ(one_three_four.clusters(first(8)).front().slowest, 871);
  const Tree two_and_four;  // Cortex-A72 and A53, as RK3399 has them
  two_and_four.capacities({485, 485, 485, 485, 1024, 1024});
  EXPECT_EQ(two_and_four.names(first(6)), "cpu4-5 cpu0-3");
  const Tree one_and_seven;  // one fast processor computes less than seven
  one_and_seven.capacities({1024, 500, 500, 500, 500, 500, 500, 500});
  EXPECT_EQ(one_and_seven.names(first(8)), "cpu1-7 cpu0");
}

TEST(Processors, OfHybridsAreApartByKindAndClock) {
  const Tree tree;
  for (int each = 0; each < 16; ++each) tree.clock(each, each < 4 ? "5200000\n" : "5000000\n");
  for (int each = 16; each < 24; ++each) tree.clock(each, "4900000\n");
  EXPECT_EQ(tree.names(first(24)), "cpu0-23") << "clocks alone are alike";
  tree.write("cpu_core/cpus", "0-15\n");
  tree.write("cpu_atom/cpus", "16-23\n");
  EXPECT_EQ(tree.names(first(24)), "cpu0-15 cpu16-23");
  for (const char* broken : {"", "16-", "-23", "23-16", "16-99999", "many", "16,,17", "16-23\nmore", "4294967312"}) {
    tree.write("cpu_atom/cpus", broken);
    EXPECT_EQ(tree.names(first(24)), "cpu0-23") << broken;
  }
}

TEST(Processors, AreThoseThatTheProcessMayUse) {
  const Tree tree;
  tree.capacities({446, 446, 446, 446, 1024, 1024, 1024, 1024});
  EXPECT_EQ(tree.names({0, 1, 2}), "cpu0-2") << "a container of small ones";
  EXPECT_EQ(tree.names({0, 1, 2, 3, 7}), "cpu0-3 cpu7") << "four small ones compute more than one fast one";
  EXPECT_EQ(tree.names({2, 6, 7}), "cpu6-7 cpu2");
  EXPECT_EQ(tree.names({}), "");
  EXPECT_EQ(tree.names({0, 4, 8}), "cpu0,cpu4,cpu8") << "of the last nothing is told";
}

TEST(Processors, TakeNoSpeedFromWhatIsNone) {
  for (const std::string broken :
       {"", "0", "-5", "fast", "1024 1024", "1024x", "0x400", "99999999999999999999", "1e3", "\n", "9999999999"}) {
    const Tree tree;
    tree.capacities({446, 1024});
    tree.capacity(0, broken);
    EXPECT_EQ(tree.names(first(2)), "cpu0-1") << broken;
    tree.clock(0, "1000000\n");
    tree.clock(1, "2000000\n");
    EXPECT_EQ(tree.names(first(2)), "cpu1 cpu0") << "clocks serve where a capacity is broken: " << broken;
  }
  const Tree huge;
  huge.capacities({446, 1024});
  huge.capacity(0, std::string(size_t{1} << 20, '4'));
  EXPECT_EQ(huge.names(first(2)), "cpu0-1");
  const Tree folder;
  folder.write("system/cpu/cpu0/cpu_capacity/no", "file");
  folder.capacity(1, "1024");
  EXPECT_EQ(folder.names(first(2)), "cpu0-1");
}

// Of any machine: each processor is in one cluster, clusters differ in speed or kind, and a team has a place for every thread.
TEST(Processors, OfAnyMachineAreEachInOneCluster) {
  std::mt19937 random(5);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int machine = 0; machine < 60; ++machine) {
    const Tree tree;
    const int count = 1 + below(12), kinds = 1 + below(4);
    std::vector<int> speeds, allowed;
    for (int kind = 0; kind < kinds; ++kind) speeds.push_back(1 + below(1024));
    std::vector<int> speed_of;
    for (int each = 0; each < count; ++each) speed_of.push_back(speeds[static_cast<size_t>(below(kinds))]);
    tree.capacities(speed_of);
    for (int each = 0; each < count; ++each)
      if (below(4) > 0) allowed.push_back(each);
    if (allowed.empty()) allowed.push_back(0);
    const std::vector<Cluster> clusters = tree.clusters(allowed);
    std::vector<int> all;
    for (const Cluster& cluster : clusters) {
      ASSERT_FALSE(cluster.processors.empty());
      int slowest = 1 << 30, fastest = 0;
      for (const int each : cluster.processors) {
        slowest = std::min(slowest, speed_of[static_cast<size_t>(each)]);
        fastest = std::max(fastest, speed_of[static_cast<size_t>(each)]);
      }
      EXPECT_EQ(cluster.slowest, slowest);
      EXPECT_GE(slowest, 0.75 * fastest);
      EXPECT_LE(slowest * static_cast<double>(cluster.processors.size()),
                clusters.front().slowest * static_cast<double>(clusters.front().processors.size()));
      all.insert(all.end(), cluster.processors.begin(), cluster.processors.end());
    }
    std::ranges::sort(all);
    EXPECT_EQ(all, allowed);
    for (int threads = 1; threads <= count + 1; ++threads) {
      const Team team = team_on(clusters, threads);
      ASSERT_EQ(team.size(), static_cast<size_t>(threads));
      const bool placed = clusters.size() > 1 && threads <= static_cast<int>(allowed.size());
      EXPECT_EQ(processors_of(team).empty(), !placed);
      if (placed && threads <= static_cast<int>(clusters.front().processors.size())) {
        EXPECT_EQ(processors_of(team), clusters.front().processors);
        EXPECT_TRUE(has_equal_shares(team));
      }
      for (const int each : processors_of(team)) EXPECT_TRUE(std::ranges::count(allowed, each) == 1);
    }
  }
}

TEST(Processors, BeyondTheFirstClusterHaveSharesByTheirSpeed) {
  const Tree tree;
  tree.capacities({446, 446, 1024, 1024});
  const Team team = team_on(tree.clusters(first(4)), 3);
  EXPECT_EQ(team[0].processors, (std::vector<int>{2, 3}));
  EXPECT_EQ(team[1].share, 1024);
  EXPECT_EQ(team[2].processors, (std::vector<int>{0, 1}));
  EXPECT_EQ(team[2].share, 446);
}

TEST(Processors, OfAnEngineAreThoseItNames) {
  const Tree tree;
  tree.capacities({446, 446, 1024, 1024});
  const auto clusters = tree.clusters(first(4));
  const Team small = team_on_processors(clusters, std::vector{0, 1}, 2);
  EXPECT_EQ(small[1].processors, (std::vector<int>{0, 1}));
  EXPECT_EQ(small[1].share, 446);
  EXPECT_EQ(team_on_processors(clusters, std::vector{1, 3, 9}, 3)[2].processors, (std::vector<int>{1, 3}));
  EXPECT_TRUE(team_on_processors(clusters, std::vector{8, 9}, 2)[0].processors.empty());
  EXPECT_TRUE(team_on_processors(std::vector{Cluster{first(4), 1}}, std::vector{0, 1}, 2)[0].processors.empty());
}

TEST(Processors, HaveNames) {
  EXPECT_EQ(name_of(std::vector<int>{}), "");
  EXPECT_EQ(name_of(std::vector{3}), "cpu3");
  EXPECT_EQ(name_of(std::vector{0, 1, 2, 5, 7, 8}), "cpu0-2,cpu5,cpu7-8");
}

TEST(Processors, KeepAThreadAsLongAsItIsAsked) {
  const std::vector<int> all = allowed_processors();
  ASSERT_FALSE(all.empty());
  {
    const StayOn one(std::vector{all.back()});
    EXPECT_EQ(allowed_processors(), std::vector{all.back()});
  }
  EXPECT_EQ(allowed_processors(), all);
  {
    const StayOn none(std::vector<int>{});
    const StayOn missing(std::vector{CPU_SETSIZE - 1, -1});  // which the system refuses
    EXPECT_EQ(allowed_processors(), all);
  }
  EXPECT_EQ(allowed_processors(), all);
}

// Two clusters of a machine: of its first and its last processor, which may be one.
Team mixed_team() {
  const std::vector<int> all = allowed_processors();
  return {{{all.front()}, 1024}, {{all.front()}, 1024}, {{all.back()}, 446}, {{all.back()}, 446}};
}

struct Seen {
  std::array<std::atomic<int>, 5000> touched{};
  std::array<std::atomic<size_t>, 5000> sizes{};
  std::mutex guard;
  std::vector<std::vector<int>> processors;
};

TEST(Processors, OfAMixedPoolDoTheirShareOnTheirPlaces) {
  const auto pool = ThreadPool::create(mixed_team());
  ASSERT_TRUE(pool.has_value());
  const pt_pool* const c = (*pool)->interface();
  EXPECT_EQ(ThreadPool::behind(c), pool->get());
  EXPECT_EQ(ThreadPool::behind(nullptr), nullptr);
  EXPECT_EQ(processors_of_caller(c), std::vector{allowed_processors().front()});
  for (const size_t count : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 13U, 100U, 4999U}) {
    Seen seen;
    c->run(
        c->context, count,
        [](void* arg, size_t begin, size_t end) {
          auto& of = *static_cast<Seen*>(arg);
          for (size_t item = begin; item < end; ++item) ++of.touched[item];
          of.sizes[begin] = end - begin;
          const std::lock_guard lock(of.guard);
          of.processors.push_back(allowed_processors());
        },
        &seen);
    for (size_t item = 0; item < seen.touched.size(); ++item) ASSERT_EQ(seen.touched[item], item < count ? 1 : 0);
    if (count == 4) {
      EXPECT_EQ(seen.processors.size(), 4U) << "as many items as threads: one each";
    }
    if (count == 100) {
      EXPECT_EQ(seen.sizes[0], 34U);  // 1024 of 2940
      EXPECT_EQ(seen.sizes[84], 16U);
    }
    if (count < 4) continue;
    for (const int of : {allowed_processors().front(), allowed_processors().back()})
      EXPECT_GE(std::ranges::count(seen.processors, std::vector{of}), allowed_processors().size() > 1 ? 1 : 0);
  }
}

TEST(Processors, OfOneSpeedSplitAsEver) {
  Team team = mixed_team();
  for (Place& place : team) place.share = 7;
  const auto pool = ThreadPool::create(team);
  const auto plain = ThreadPool::create(4);
  ASSERT_TRUE(pool && plain);
  for (const pt_pool* const c : {(*pool)->interface(), (*plain)->interface()}) {
    Seen seen;
    c->run(
        c->context, 10,
        [](void* arg, size_t begin, size_t end) { static_cast<Seen*>(arg)->sizes[begin] = end - begin; }, &seen);
    EXPECT_EQ(seen.sizes[0], 2U);
    EXPECT_EQ(seen.sizes[2], 3U);
    EXPECT_EQ(seen.sizes[5], 2U);
    EXPECT_EQ(seen.sizes[7], 3U);
  }
}

}  // namespace
}  // namespace pantoum::host
