// How far this process is with its collectives, for those that wait for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace whetstone {

extern std::atomic<uint64_t> collectivesBegun, collectivesFinished;

}  // namespace whetstone
