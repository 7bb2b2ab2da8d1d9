#pragma once

#include <functional>

#include "cli/render/page.hpp"
#include "cli/values/recorded_events.hpp"
#include "ulpscope/run.hpp"

/// What `inspect` prints of a run.
namespace ulpscope::cli {

/// What was recorded, its lanes, and what to inspect next.
void render_run(const Run& run, Page& page);
void render_steps(const Run& run, Page& page);
void render_recorded_settings(const Run& run, Page& page);

/// The events of a step, lane by lane.
/// @throws Error with ErrorCode::usage if the run has no such step.
void render_step(const Run& run, std::int64_t step, Page& page);

/// One event in full below its place; `first`: no other one stands above.
void render_located(const LocatedEvent& event, bool first, Page& page);

}  // namespace ulpscope::cli
