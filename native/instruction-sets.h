// Includes KERNELS, which the includer defines, for every instruction set and element type: portable::f32, portable::bf16,
// wide::f32 and wide::bf16. Inside a namespace of the includer's own.
namespace portable {
#include "vector.h"
namespace f32 {
using Element = float;
#include KERNELS
}
namespace bf16 {
using Element = uint16_t;
#include KERNELS
}
}  // namespace portable

WHETSTONE_WIDE_BEGIN
namespace wide {
#include "vector.h"
namespace f32 {
using Element = float;
#include KERNELS
}
namespace bf16 {
using Element = uint16_t;
#include KERNELS
}
}  // namespace wide
WHETSTONE_WIDE_END
#undef KERNELS
