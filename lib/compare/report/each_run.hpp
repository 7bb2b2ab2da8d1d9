#pragma once

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Adds what each run by itself shows that may explain a finding. Reads both runs once more.
void add_what_each_run_shows(Record& record, const Both<const Run*>& runs,
                             std::int64_t step_offset);

}  // namespace ulpscope::comparison
