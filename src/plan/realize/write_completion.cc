#include "plan/realize/realize.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/round_up.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {
namespace {

class EventRunner {
 public:
  EventRunner(const Model& model, const std::vector<Event>& events, Bytes budget)
      : model_(model), events_(events), budget_(budget), live_bytes_(base::round_up(model.staging, model.align)) {
    in_ram_.assign(model.tensors.size(), 0);
    ready_.assign(model.tensors.size(), 0);
    stored_.assign(model.tensors.size(), 0);
    completed_.resize(events.size());
    std::iota(completed_.begin(), completed_.end(), size_t{0});
    for (const TensorIndex tensor : model.tensors.indices())
      if (model.tensors[tensor].start == Home::kRam) arrive(tensor);
  }

  std::vector<size_t> run() {
    for (size_t at = 0; at < events_.size(); ++at) {
      const Event& event = events_[at];
      const TensorIndex tensor(event.subject);  // unless it is a compute
      if (event.what == Do::kCompute) compute(event, at);
      if (event.what == Do::kPageOut) stored_[tensor] = transfer(tensor, true, 0);
      if (event.what == Do::kPageIn) page_in(tensor, at);
      if (event.what == Do::kFree) free(tensor, at);
    }
    for (const Flight& flight : flights_) completed_[flight.freed] = events_.size();
    return early_ ? std::move(completed_) : std::vector<size_t>{};
  }

 private:
  struct Flight {
    Seconds end = 0;
    size_t freed = 0;  // event
    Bytes size = 0;
  };

  void arrive(TensorIndex tensor) {
    in_ram_[tensor] = 1;
    live_bytes_ += model_.tensors[tensor].size;
  }
  void leave(TensorIndex tensor) {
    in_ram_[tensor] = 0;
    live_bytes_ -= model_.tensors[tensor].size;
  }

  void compute(const Event& event, size_t at) {
    const ChoiceModel& how = kernel_of(model_, event);
    Seconds begin = now_;
    for (const TensorIndex tensor : how.reads) begin = std::max(begin, ready_[tensor]);
    Bytes wanted = how.workspace;
    for (size_t write = 0; write < how.writes.size(); ++write) {
      const TensorIndex output = how.writes[write], source = event.taken_over[write];
      if (in_ram_[output])  // in place, as below: a page_out of these bytes is waited for
        begin = std::max(begin, stored_[output]);
      else if (source.exists())
        begin = std::max(begin, stored_[source]);
      else
        wanted += model_.tensors[output].size;
    }
    now_ = std::max(begin, wait_for(wanted, at)) + how.seconds;
    for (size_t write = 0; write < how.writes.size(); ++write) {
      if (event.taken_over[write].exists()) leave(event.taken_over[write]);
      if (!in_ram_[how.writes[write]]) arrive(how.writes[write]);
      ready_[how.writes[write]] = now_;
    }
  }

  void page_in(TensorIndex tensor, size_t at) {
    const Seconds wait = std::max(wait_for(model_.tensors[tensor].size, at), stored_[tensor]);
    arrive(tensor);
    ready_[tensor] = transfer(tensor, false, wait);
  }

  void free(TensorIndex tensor, size_t at) {
    leave(tensor);
    if (stored_[tensor] <= now_) return;
    early_ = true;
    flights_.push_back({stored_[tensor], at, model_.tensors[tensor].size});
    flying_ += flights_.back().size;
  }

  Seconds transfer(TensorIndex tensor, bool out, Seconds earliest) {
    const TensorModel& entry = model_.tensors[tensor];
    Seconds& free_from = out && model_.full_duplex ? out_free_ : in_free_;
    free_from = std::max({earliest, now_, ready_[tensor], free_from}) + (out ? entry.out_s : entry.in_s);
    if (!model_.async) now_ = free_from;
    return free_from;
  }

  // Writes end in the order of their queue.
  Seconds wait_for(Bytes size, size_t at) {
    Seconds wait = 0;
    for (; !flights_.empty(); flights_.pop_front()) {
      const Flight& next = flights_.front();
      if (next.end > now_ && live_bytes_ + flying_ + size <= budget_) break;
      wait = next.end;
      completed_[next.freed] = at;
      flying_ -= next.size;
    }
    return wait;
  }

  const Model& model_;
  const std::vector<Event>& events_;
  const Bytes budget_;
  Bytes live_bytes_ = 0, flying_ = 0;
  Indexed<TensorIndex, char> in_ram_;
  Indexed<TensorIndex, Seconds> ready_, stored_;  // in RAM from then on, whole in storage
  std::deque<Flight> flights_;
  std::vector<size_t> completed_;
  bool early_ = false;  // is anything freed while it is being written?
  Seconds now_ = 0, in_free_ = 0, out_free_ = 0;
};

}  // namespace

std::vector<size_t> write_completions(const Model& model, const std::vector<Event>& events, Bytes budget) {
  return EventRunner(model, events, budget).run();
}

}  // namespace pantoum::plan
