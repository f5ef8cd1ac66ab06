#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace whetstone {

void countCpuMemory();
// bytes now, peak bytes, reserved bytes
std::array<double, 3> cpuMemory(bool resetPeak);

}  // namespace whetstone
