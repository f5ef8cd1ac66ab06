// Stands in for gloo's header: see rendezvous/store.h.
#pragma once
namespace gloo::transport {
class Device;
}
