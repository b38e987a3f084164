// Where a plan's seconds come from, as figures say it.
#pragma once

#include <string>

#include "problem/cost_graph.h"

namespace pantoum::problem {

// "measured 83%, modelled by profile host 17%; storage measured" where some were measured; else "modelled". Of a file:
// text of a stranger's.
inline std::string time_source(const Device& device) {
  return device.costs_of.find("measured") != std::string::npos ? device.costs_of : "modelled";
}

// The same for a time and an energy side by side. Joules follow from seconds by a profile's watts, whatever was measured.
inline std::string time_and_energy_source(const Device& device) {
  const std::string time = time_source(device);
  return time == "modelled" ? time : "time " + time + "; energy modelled";
}

}  // namespace pantoum::problem
