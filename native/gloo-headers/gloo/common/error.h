// Stands in for gloo's header: see rendezvous/store.h.
#pragma once
