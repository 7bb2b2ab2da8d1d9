#pragma once

#include <map>
#include <string_view>

/// What programs do that a recording must live through, by name. Each trains before, and after
/// where there is an after.
namespace faults {

using Hazards = std::map<std::string_view, void (*)()>;

void add_endings(Hazards& hazards);
void add_processes(Hazards& hazards);
void add_threads(Hazards& hazards);
void add_signals(Hazards& hazards);
void add_limits(Hazards& hazards);
void add_libraries(Hazards& hazards);
void add_sandboxes(Hazards& hazards);

}  // namespace faults
