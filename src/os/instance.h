// SPDX-License-Identifier: MIT
#pragma once

// Two copies of the runtime in one process: the static library linked into two shared objects, or into the
// program and a plug-in.
//   Job       let a copy that starts see that another one already runs; two schedulers would fight over
//             signals, CPUs and the thread-local current goroutine.
//   How       each copy carries an ELF note (owner "weft") whose descriptor leads to this copy's `started`
//             word. Notes are found through the program headers of every loaded module, so symbol
//             visibility and RTLD_LOCAL do not matter.
//   Orders    mark first, look second: of two copies that start at the same moment at least one sees the
//             other.
//   Rejected  an exported symbol (hidden by RTLD_LOCAL and version scripts), an environment variable
//             (inherited by children), a named file or socket (not per process, needs cleaning up).
namespace weft::os {

// Declares that this copy of the runtime runs (or is about to). Idempotent; any thread.
void mark_instance_started() noexcept;

// The path of another loaded module whose copy of the runtime has been started, or null. Call after
// mark_instance_started(). The text stays valid as long as that module stays loaded.
const char* other_started_instance() noexcept;

}  // namespace weft::os
