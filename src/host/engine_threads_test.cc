// Plans of several engines, run by threads, against the same plans on one engine.
#include "host/engine_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>

#include "host/thread_pool.h"
#include "testing/binary_plans.h"

namespace pantoum::host {
namespace {

using namespace runtime_test;  // NOLINT(google-build-using-namespace): plans are written with its short names

constexpr uint32_t kEngines = 3;
constexpr uint64_t kSlots = 6;  // of the arena, behind the homes

// A random list of computes, transfers and frees: every op adds two tensors that are in RAM, into free bytes or over one of them.
class RandomPlan {
 public:
  RandomPlan(uint64_t seed, bool gangs) : random_(seed), gangs_(gangs) {
    plan.align_bytes = kAlign;
    plan.arena_bytes = (kSlots + 3) * kAlign;
    plan.tensors = {tensor("x", Home::kRam, 0), tensor("y", Home::kRam, kAlign), tensor("z", Home::kRam, 2 * kAlign)};
    for (const uint32_t input : {0U, 1U}) at_[input] = input * kAlign;
    for (int step = 0; step < 60; ++step) add_step();
    while (at_.size() > 2) sum_up();
    plan.programs = {{"train", code_}};
    plan.storage_bytes = next_slot_;
    artifact::add_waits(plan);
  }

  [[nodiscard]] BinaryPlan on_one_engine() const {
    BinaryPlan one = plan;
    for (BinaryOp& each : one.ops) each.engines = 1;
    for (BinaryInstruction& each : one.programs[0].instructions) each.waits = {};
    return one;
  }

  BinaryPlan plan;

 private:
  size_t below(size_t count) { return random_() % count; }
  uint32_t any_in_ram() { return std::next(at_.begin(), static_cast<std::ptrdiff_t>(below(at_.size())))->first; }
  bool is_home(uint32_t of) const { return of < 3; }

  std::vector<uint64_t> free_places() const {
    std::vector<uint64_t> free;
    for (uint64_t at = 3 * kAlign; at < plan.arena_bytes; at += kAlign)
      if (std::ranges::none_of(at_, [&](const auto& held) { return held.second == at; })) free.push_back(at);
    return free;
  }

  void add(uint32_t a, uint32_t b, uint32_t into, uint64_t at) {
    BinaryOp made = op(Kind::k_add, {a, b}, {into});
    made.engines = static_cast<uint8_t>(gangs_ ? 1 + below((1U << kEngines) - 1) : 1U << below(kEngines));
    code_.push_back(compute(static_cast<uint32_t>(plan.ops.size()), {at}));
    plan.ops.push_back(made);
    std::erase_if(at_, [&](const auto& held) { return held.second == at; });
    at_[into] = at;
  }

  void add_step() {
    const std::vector<uint64_t> free = free_places();
    const uint32_t a = any_in_ram(), b = any_in_ram();
    switch (below(8)) {
      case 0:  // to storage
        if (is_home(a) || plan.tensors[a].storage_at >= 0) return;
        plan.tensors[a].storage_at = static_cast<int64_t>(next_slot_);
        next_slot_ += kAlign;
        code_.push_back(page_out(a));
        stored_.insert(a);
        if (below(2) == 0) return;
        [[fallthrough]];
      case 1:  // out of RAM
        if (is_home(a)) return;
        code_.push_back(release(a));
        at_.erase(a);
        return;
      case 2:  // back from storage
        for (const uint32_t each : stored_)
          if (!at_.contains(each) && !free.empty()) {
            at_[each] = free[below(free.size())];
            code_.push_back(page_in(each, at_[each]));
            return;
          }
        return;
      default:
        plan.tensors.push_back(tensor("t" + std::to_string(plan.tensors.size())));
        const auto made = static_cast<uint32_t>(plan.tensors.size() - 1);
        const bool over = !is_home(a) && (free.empty() || below(4) == 0);
        if (over)
          add(a, b, made, at_[a]);
        else if (!free.empty())
          add(a, b, made, free[below(free.size())]);
        else
          plan.tensors.pop_back();
    }
  }

  // One tensor less in RAM: all end in z.
  void sum_up() {
    uint32_t last = at_.rbegin()->first;
    if (last == 2) {  // z took one already
      last = std::next(at_.rbegin())->first;
    }
    const uint32_t other = at_.contains(2) ? 2 : 0;
    if (other == 2) {
      plan.tensors.push_back(tensor("s" + std::to_string(plan.tensors.size())));
      const auto sum = static_cast<uint32_t>(plan.tensors.size() - 1);
      add(last, 2, sum, at_[last]);
      code_.push_back(release(2));
      at_.erase(2);
      add(sum, 0, 2, 2 * kAlign);
      code_.push_back(release(sum));
      at_.erase(sum);
    } else {
      add(last, other, 2, 2 * kAlign);
      if (!is_home(last)) {
        code_.push_back(release(last));
        at_.erase(last);
      }
    }
    if (at_.size() == 3 && at_.contains(2)) at_.erase(2);  // done: x, y
  }

  std::mt19937_64 random_;
  const bool gangs_;
  std::map<uint32_t, uint64_t> at_;  // what is in RAM
  std::set<uint32_t> stored_;
  std::vector<BinaryInstruction> code_;
  uint64_t next_slot_ = 0;
};

EngineThreads* shared_threads() {
  static const std::unique_ptr<EngineThreads> threads = std::move(*EngineThreads::create(kEngines));
  return threads.get();
}

// A plan with a session of engines. Every set of engines has the same kernels.
class EngineMachine {
 public:
  explicit EngineMachine(const BinaryPlan& from, const pt_kernel_table* with = kernels())
      : bytes(encoded(from)), pager(from.storage_bytes) {
    opened = pt_plan_open(&plan, bytes.data(), bytes.size());
    if (opened != PT_OK) return;
    for (uint8_t set = 1; set < 1U << kEngines; ++set) crews.push_back({set, with, nullptr});
    arena = memory_of(plan.arena_bytes);
    memory = memory_of(pt_session_bytes(&plan));
    buffer = memory_of(kAlign);
    const pt_engines engines = threads->interface(crews);
    opened = pt_session_open_engines(&session, &plan, memory.get(), arena.get(), nullptr, &engines, pager.interface());
  }
  pt_status run() {
    const pt_scalars scalars = {1, 0, 1};
    return pt_run(session, 0, &scalars);
  }
  pt_status set(const char* name, float value) {
    const std::vector<float> values(kLength, value);
    return pt_session_write(session, index(name), 0, values.data(), 4 * kLength, buffer.get(), kAlign);
  }
  float get(const char* name) {
    float value = 0;
    EXPECT_EQ(pt_session_read(session, index(name), 0, &value, 4, buffer.get(), kAlign), PT_OK);
    return value;
  }
  [[nodiscard]] uint32_t index(const char* name) const { return static_cast<uint32_t>(pt_plan_tensor(&plan, name)); }

  std::vector<std::byte> bytes;
  LazyPager pager;
  EngineThreads* threads = shared_threads();
  std::vector<pt_crew> crews;
  pt_plan plan{};
  pt_session* session = nullptr;
  pt_status opened = PT_OK;
  Memory arena, memory, buffer;
};

bool has_engines(const BinaryPlan& plan) {
  return std::ranges::any_of(plan.ops, [](const BinaryOp& op) { return op.engines != 1; });
}

TEST(EngineThreads, GiveTheValuesOfOneEngine) {
  uint64_t waits = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const RandomPlan random(seed, seed % 2 == 0);
    if (!has_engines(random.plan)) continue;
    Machine one(random.on_one_engine());
    EngineMachine several(random.plan);
    ASSERT_EQ(one.opened, PT_OK) << seed;
    ASSERT_EQ(several.opened, PT_OK) << seed;
    ASSERT_EQ(one.set("x", {0.5F}), PT_OK);
    ASSERT_EQ(several.set("x", 0.5F), PT_OK);
    ASSERT_EQ(one.set("y", {0.25F}), PT_OK);
    ASSERT_EQ(several.set("y", 0.25F), PT_OK);
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(one.run("train"), PT_OK) << seed;
      ASSERT_EQ(several.run(), PT_OK) << seed;
      ASSERT_EQ(one.get("z")[0], several.get("z")) << seed;
    }
    pt_counters of_one{}, of_several{};
    pt_session_counters(one.session, &of_one);
    pt_session_counters(several.session, &of_several);
    EXPECT_EQ(of_one.computes, of_several.computes);
    EXPECT_EQ(of_one.bytes_paged_in, of_several.bytes_paged_in);
    EXPECT_EQ(of_one.bytes_paged_out, of_several.bytes_paged_out);
    EXPECT_EQ(of_one.steps, of_several.steps);
    for (const BinaryInstruction& step : random.plan.programs[0].instructions)
      waits += static_cast<uint64_t>(std::ranges::count_if(step.waits, [](uint32_t count) { return count != 0; }));
  }
  EXPECT_GT(waits, 1000U);
}

TEST(EngineThreads, APlanThatLacksAWaitIsRefused) {
  int lacking = 0;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    const RandomPlan random(seed, false);  // a gang also waits for its engines, which no bytes ask for
    if (!has_engines(random.plan)) continue;
    for (size_t at = 0; at < random.plan.programs[0].instructions.size(); ++at)
      for (size_t queue = 0; queue < PT_QUEUES; ++queue) {
        BinaryPlan forged = random.plan;
        uint32_t& wait = forged.programs[0].instructions[at].waits[queue];
        if (wait == 0) continue;
        --wait;
        EXPECT_EQ(EngineMachine(forged).opened, PT_E_PLAN) << seed << " " << at << " " << queue;
        ++lacking;
      }
  }
  EXPECT_GT(lacking, 150);
}

TEST(EngineThreads, AWaitForALaterInstructionIsRefused) {
  const RandomPlan random(3, false);
  for (size_t at = 0; at < random.plan.programs[0].instructions.size(); ++at) {
    BinaryPlan forged = random.plan;
    BinaryInstruction& step = forged.programs[0].instructions[at];
    if (step.what == Do::kFree) continue;
    for (uint32_t& wait : step.waits) wait += 1000;
    EXPECT_EQ(EngineMachine(forged).opened, PT_E_PLAN) << at;
  }
}

TEST(EngineThreads, PlansOfOneEngineAndOfSeveralAreOpenedByTheirOwnFunction) {
  const RandomPlan random(2, false);
  EXPECT_EQ(Machine(random.plan).opened, PT_E_ARGUMENT);
  EXPECT_EQ(EngineMachine(random.on_one_engine()).opened, PT_E_ARGUMENT);
  EngineMachine without(random.plan);
  without.crews.erase(without.crews.begin() + 1);
  const pt_engines engines = without.threads->interface(without.crews);
  EXPECT_EQ(pt_session_open_engines(&without.session, &without.plan, without.memory.get(), without.arena.get(), nullptr,
                                    &engines, without.pager.interface()),
            PT_E_KERNEL);
}

// Kernels of which one fails at some call.
std::atomic<int> calls_left{0};
pt_status add_or_fail(const pt_call* call) {
  if (calls_left.fetch_sub(1) == 0) return PT_E_DATA;
  return add(call);
}

TEST(EngineThreads, AFailureStopsAllQueuesAndIsTold) {
  std::vector<pt_kernel> rows(kernels()->kernels, kernels()->kernels + kernels()->count);
  for (pt_kernel& row : rows)
    if (row.op == PT_OP_add) row.submit = add_or_fail;
  const pt_kernel_table table = {rows.data(), rows.size()};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomPlan random(seed, true);
    if (!has_engines(random.plan)) continue;
    EngineMachine machine(random.plan, &table);
    ASSERT_EQ(machine.opened, PT_OK);
    calls_left = 1 << 30;
    ASSERT_EQ(machine.set("x", 1), PT_OK);
    ASSERT_EQ(machine.set("y", 1), PT_OK);
    ASSERT_EQ(machine.run(), PT_OK);
    calls_left = static_cast<int>(seed % 20);
    EXPECT_EQ(machine.run(), PT_E_DATA) << seed;
    EXPECT_TRUE(machine.pager.open.empty());
    EXPECT_EQ(machine.run(), PT_E_STATE);
  }
}

TEST(EngineThreads, AFailedTransferStopsAllQueuesAndIsTold) {
  int failed = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const RandomPlan random(seed, true);
    if (!has_engines(random.plan) || random.plan.storage_bytes == 0) continue;
    EngineMachine machine(random.plan);
    ASSERT_EQ(machine.opened, PT_OK);
    ASSERT_EQ(machine.set("x", 1), PT_OK);
    ASSERT_EQ(machine.set("y", 1), PT_OK);
    machine.pager.fails_at = 1;
    machine.pager.failure = PT_E_FULL;
    EXPECT_EQ(machine.run(), PT_E_FULL) << seed;
    EXPECT_TRUE(machine.pager.open.empty());
    ++failed;
  }
  EXPECT_GT(failed, 30);
}

TEST(EngineThreads, AnObserverSeesEveryInstructionOnce) {
  const RandomPlan random(4, true);
  EngineMachine machine(random.plan);
  ASSERT_EQ(machine.opened, PT_OK);
  struct Seen {
    std::array<std::atomic<int>, 512> times{};
    std::atomic<int> wrong{0};
    const BinaryPlan* plan = nullptr;
  } seen;
  seen.plan = &random.plan;
  pt_session_observe(
      machine.session,
      [](void* context, const pt_event* event) {
        auto& of = *static_cast<Seen*>(context);
        ++of.times[event->instruction];
        const BinaryInstruction& step = of.plan->programs[0].instructions[event->instruction];
        const uint8_t engines = step.what == Do::kCompute ? of.plan->ops[step.subject].engines : 0;
        of.wrong += event->engines != engines || event->subject != step.subject;
      },
      &seen);
  ASSERT_EQ(machine.run(), PT_OK);
  for (size_t at = 0; at < random.plan.programs[0].instructions.size(); ++at) EXPECT_EQ(seen.times[at], 1) << at;
  EXPECT_EQ(seen.wrong, 0);
}

TEST(EngineThreads, StayWhereTheyArePlaced) {
  const std::vector<int> all = allowed_processors();
  const auto threads = std::move(*EngineThreads::create(2, {{{all.back()}, 1}, {}, {{all.front()}, 1}}));
  const std::vector<pt_crew> none;
  const pt_engines engines = threads->interface(none);
  std::array<std::vector<int>, 3> found;
  engines.run(
      engines.context, 3,
      [](void* arg, uint32_t part) {
        (*static_cast<std::array<std::vector<int>, 3>*>(arg))[part] = allowed_processors();
      },
      &found);
  EXPECT_EQ(found[0], std::vector{all.back()});
  EXPECT_EQ(found[1], all);
  EXPECT_EQ(found[2], all) << "the pager's";
}

TEST(EngineThreads, MeasureHandOffs) {
  const auto threads = std::move(*EngineThreads::create(2));
  const auto pool = std::move(*ThreadPool::create(2));
  const double seconds = measure_hand_off(*threads, *pool->interface());
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 1);
}

}  // namespace
}  // namespace pantoum::host
