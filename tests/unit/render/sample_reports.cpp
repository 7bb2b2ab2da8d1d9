#include "tests/unit/render/sample_reports.hpp"

namespace ulpscope::test {
namespace {

RunSummary summary(const std::string& path, const std::string& level) {
  RunSummary run;
  run.path = path;
  run.command = {"./train", "--data", "digits 8x8.csv"};
  run.complete = true;
  run.ranks = 1;
  run.steps = 50;
  run.events = 412350;
  run.values = 912340;
  run.level = level;
  return run;
}

TensorReport tensor(Role role, std::uint16_t index, const std::string& tensor_name,
                    std::vector<std::int64_t> shape, bool equal) {
  TensorReport report;
  report.role = role;
  report.index = index;
  report.name = tensor_name;
  report.dtype = Dtype::float32;
  report.shape = {shape, shape};
  report.equal = equal;
  return report;
}

Difference weight_gradient_difference() {
  Difference difference;
  difference.elements = 73728;
  difference.differing = 2326;
  difference.ulp_max = 118;
  difference.ulp_mean = 1.6;
  difference.histogram = {{0, 71402}, {1, 1903}, {2, 340}, {4, 60}, {16, 12}, {64, 11}};
  difference.absolute_max = 1.3737e-08;
  difference.absolute_rms = 2.0e-10;
  difference.scaled_max = 1.1e-07;
  WorstElement worst;
  worst.index = {12, 7, 1, 2};
  worst.reference = "-0.00125";
  worst.candidate = "-0.0012500138";
  worst.bits = {0xbaa3d70a, 0xbaa3d780};
  worst.bit_width = 32;
  difference.worst = worst;
  return difference;
}

}  // namespace

Report identical_report() {
  Report report;
  report.verdict = Verdict::identical;
  report.summary = "Both runs are identical.";
  report.reference = summary("runs/a", "digest");
  report.candidate = summary("runs/b", "digest");
  report.coverage.aligned = 412350;
  return report;
}

Report origin_report() {
  Report report;
  report.verdict = Verdict::diverged;
  report.summary = "The runs diverge at step 17, in the backward pass of layer2.0.conv1.";
  report.reference = summary("runs/a", "full");
  report.candidate = summary("runs/b", "full");
  report.coverage.aligned = 412350;
  report.coverage.not_compared.uninitialised = 812;
  report.coverage.not_compared.handle = 3;
  report.environment = {{"threads.intra_op", "1", "2", true, {}},
                        {"env.OMP_NUM_THREADS", std::nullopt, "2", true, {}},
                        {"cpu.affinity", "0", "0-1", false, {}}};

  Finding finding;
  finding.kind = FindingKind::origin;
  finding.lane = "autograd";
  finding.step = 17;
  finding.phase = Phase::backward;
  finding.root = "ResNet";
  finding.module = "layer2.0.conv1";
  finding.module_type = "Conv2d";
  finding.op = "aten::mkldnn_convolution_backward";
  finding.parents = {"ConvolutionBackward0", "aten::convolution_backward"};
  finding.forward_op = "aten::convolution";
  finding.device = "cpu";
  finding.event = {140913, 140913};
  finding.tensors = {tensor(Role::input, 0, "grad_output", {256, 128, 28, 28}, true),
                     tensor(Role::input, 1, "input", {256, 64, 56, 56}, true),
                     tensor(Role::input, 2, "weight", {128, 64, 3, 3}, true),
                     tensor(Role::output, 0, "grad_input", {256, 64, 56, 56}, true),
                     tensor(Role::output, 1, "grad_weight", {128, 64, 3, 3}, false)};
  finding.tensors.back().difference = weight_gradient_difference();
  finding.neighbours = {
      {140911, "aten::threshold_backward", "layer2.0.relu", true, false, ""},
      {140912, "aten::native_batch_norm_backward", "layer2.0.bn1", true, false, ""},
      {140913, "aten::mkldnn_convolution_backward", "layer2.0.conv1", false, true, ""},
      {140914, "AccumulateGrad", "layer2.0.conv1.weight", false, false, "propagated"},
      {140915, "aten::threshold_backward", "layer1.1", true, false, ""}};
  finding.notes = {"this op gave identical results in steps 0 - 16",
                   "the loss differs from step 18 on"};
  report.findings = {finding};
  report.propagated = {198204, {{17, 49}}, {}};
  report.growth = {{17, 1.1e-07, 118, Both<double>{0.41, 0.41}},
                   {18, 3.4e-06, 2210, Both<double>{0.4096122, 0.4096125}}};
  report.causes = {{"threads",
                    Confidence::certain,
                    0,
                    {"threads.intra_op is 1 in the reference and 2 in the candidate",
                     "this op splits its sum over threads"},
                    {"it was equal in steps 0 - 16"},
                    {"OMP_NUM_THREADS=1 ./train --data 'digits 8x8.csv'"}}};
  return report;
}

Report arguments_report() {
  Report report;
  report.verdict = Verdict::diverged;
  report.summary = "The runs diverge at step 0: eps differs.";
  report.reference = summary("runs/a", "digest");
  report.candidate = summary("runs/b", "digest");
  report.candidate.command.emplace_back("--eps=1e-6");
  report.candidate.complete = false;
  report.coverage.aligned = 412340;
  report.coverage.only_reference = 10;
  report.coverage.only_candidate = 1;
  report.coverage.unseen = {"the candidate was killed in step 50"};

  Finding arguments;
  arguments.kind = FindingKind::arguments;
  arguments.lane = "main";
  arguments.step = 0;
  arguments.phase = Phase::forward;
  arguments.root = "Encoder";
  arguments.module = "layers.0.norm1";
  arguments.module_type = "LayerNorm";
  arguments.op = "aten::layer_norm";
  arguments.device = "cpu";
  arguments.where = "train.cpp:41";
  arguments.source = "x = norm(x);";
  arguments.event = {512, 515};
  arguments.tensors = {tensor(Role::input, 0, "input", {64, 256}, true),
                       tensor(Role::input, 2, "weight", {256}, true),
                       tensor(Role::input, 3, "bias", {256}, true),
                       tensor(Role::output, 0, "", {64, 256}, false)};
  arguments.arguments = {{"eps", "1e-05", "1e-06"}};

  Finding sequence;
  sequence.kind = FindingKind::sequence;
  sequence.lane = "main";
  sequence.step = 3;
  sequence.phase = Phase::optimizer;
  sequence.between = Both<std::string>{"fc", "SGD"};
  sequence.op = "aten::mul_";
  sequence.overload = "Tensor";
  sequence.device = "cpu";
  sequence.event = {std::nullopt, 61204};

  Finding metadata;
  metadata.kind = FindingKind::metadata;
  metadata.diverges = false;
  metadata.lane = "worker 0";
  metadata.phase = Phase::setup;
  metadata.root = "Encoder";
  metadata.module = "";
  metadata.op = "aten::to";
  metadata.event = {7, 7};

  Finding further;
  further.kind = FindingKind::origin;
  further.lane = "autograd";
  further.step = 4;
  further.phase = Phase::backward;
  further.root = "Encoder";
  further.module = "layers.1.attention.out_proj";
  further.module_type = "Linear";
  further.op = "aten::mm";
  further.parents = {"AddmmBackward0"};
  further.device = "cpu";
  further.event = {80123, 80126};
  further.tensors = {tensor(Role::input, 0, "self", {64, 256}, true),
                     tensor(Role::output, 0, "", {256, 256}, false)};
  further.tensors.back().difference = weight_gradient_difference();

  report.findings = {arguments, sequence, further, metadata};
  report.propagated = {409001, {{0, 0}}, {}};
  report.causes = {{"argument",
                    Confidence::certain,
                    0,
                    {"eps is 1e-05 in the reference and 1e-06 in the candidate"},
                    {},
                    {}},
                   {"structure", Confidence::likely, 1, {}, {}, {}}};
  return report;
}

}  // namespace ulpscope::test
