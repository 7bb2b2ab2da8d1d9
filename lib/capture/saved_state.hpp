#pragma once

namespace torch::optim {
class Optimizer;
}

namespace ulpscope::capture {

/// The program writes an optimizer to an archive, which is in the order of addresses: what it keeps
/// for each parameter is called by that from now on ("fc.weight.exp_avg").
void name_saved_state(const torch::optim::Optimizer& optimizer);

}  // namespace ulpscope::capture
