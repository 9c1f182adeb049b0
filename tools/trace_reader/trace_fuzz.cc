// SPDX-License-Identifier: MIT
// libFuzzer's target: whatever the bytes, reading, replaying and all outputs must end without a fault of their own.
#include <cstdlib>
#include <sstream>

#include "trace_reader/timeline.h"
#include "viewer/outputs.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const weft::tools::TraceFile file = weft::tools::read_trace({data, size});
  const weft::tools::Timeline line = weft::tools::make_timeline(file);
  if (line.fault && (line.fault->offset > size || line.fault->reason.empty())) std::abort();
  if (line.events == 0) return 0;
  std::ostringstream out;
  weft::tools::write_summary(out, line, "fuzz");
  weft::tools::write_perfetto(out, line);
  weft::tools::write_page(out, line, "fuzz");
  return 0;
}
