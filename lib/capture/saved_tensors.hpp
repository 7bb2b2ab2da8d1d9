#pragma once

#include <cstddef>

namespace ulpscope::capture {

/// The program writes memory of LibTorch's to an archive, as `torch.save` does for each storage,
/// which is no op: an event `torch::save` that reads the storage. Memory that recorded ops have not
/// met is not a tensor's, or says nothing of the run.
void note_saved(const void* data) noexcept;

}  // namespace ulpscope::capture
