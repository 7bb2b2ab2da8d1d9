#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/render/html.hpp"
#include "cli/render/json.hpp"
#include "tests/unit/render/sample_reports.hpp"

/// Makes pages that no small dump leads to: DIRECTORY/NAME.html and the JSON document beside it.
namespace {

using namespace ulpscope;

/// What each text becomes: markup, the end of the element that it stands in, what breaks lines or
/// turns text around, and bytes that are no UTF-8.
std::string harmful(const std::string& text) {
  return text + "<script>harm=1</script><img src=x onerror=harm=1>]]></script><script>harm=1//" +
         "<!--\xe2\x80\xa8\xe2\x80\xae\xff\"'`&amp;\x01";
}

void make_harmful(std::string& text) { text = harmful(text); }

void make_harmful(std::vector<std::string>& texts) {
  for (std::string& text : texts) make_harmful(text);
}

void make_harmful(Finding& finding) {
  for (std::string* text :
       {&finding.lane, &finding.root, &finding.module_type, &finding.op, &finding.overload,
        &finding.forward_op, &finding.device, &finding.where, &finding.source, &finding.meaning})
    make_harmful(*text);
  if (finding.module) make_harmful(*finding.module);
  for (std::vector<std::string>* texts :
       {&finding.parents, &finding.children.reference, &finding.kernels.candidate, &finding.notes})
    make_harmful(*texts);
  for (TensorReport& tensor : finding.tensors) make_harmful(tensor.name);
  for (ArgumentReport& argument : finding.arguments) {
    make_harmful(argument.name);
    make_harmful(argument.of);
    if (argument.reference) make_harmful(*argument.reference);
  }
  for (Neighbour& neighbour : finding.neighbours) {
    make_harmful(neighbour.op);
    make_harmful(neighbour.module);
  }
}

/// Findings of several kinds, steps, phases and modules; of the first, several tensors differ, one
/// of them by more than a double counts exactly.
Report mixed_report() {
  Report report = test::origin_report();
  const Report other = test::arguments_report();
  report.findings.insert(report.findings.end(), other.findings.begin(), other.findings.end());
  for (Cause cause : other.causes) {
    cause.finding += 1;
    report.causes.push_back(std::move(cause));
  }
  std::vector<TensorReport>& tensors = report.findings.front().tensors;
  TensorReport far = tensors.back();
  far.index = 2;
  far.dtype = Dtype::float64;
  far.difference->ulp_max = (std::uint64_t{1} << 60) + 1;
  far.difference->scaled_max = 0.25;
  far.difference->histogram.push_back({std::uint64_t{1} << 60, 1});
  far.difference->axes = {{128, 1, {17}},
                          {64, 64, {0, 1, 2, 3, 4, 5, 6, 7}},
                          {100, 20, {0, 1, 2, 3, 4, 5, 6, 9}},
                          {10, 2, {8, 9}}};
  tensors.insert(tensors.end() - 1, far);
  Finding farther = report.findings.front();
  farther.tensors.back().difference->scaled_max = 0.5;
  Finding in_forward = report.findings.front();
  in_forward.phase = Phase::forward;
  report.findings.push_back(std::move(farther));
  report.findings.push_back(std::move(in_forward));
  report.findings[1].meaning = "lr of SGD is 0.05 and 0.06";
  report.findings[1].arguments.push_back({"lr", "0.05", "0.06", "SGD"});
  report.models = {{"Net", "conv.weight", ModelAspect::shape, "[8, 3]", "[12, 3]"},
                   {"Net", "conv.weight", ModelAspect::requires_grad, "True", "False"},
                   {"Net", "", ModelAspect::type, "Net", "Other"},
                   {"Net", "head.bias", ModelAspect::tensor, {}, "float32 [10]"}};
  report.path = {
      17,
      {{140913, "aten::mm", "layer2.0.conv1", 1e-7, 118},
       {140920, "aten::convolution_backward", "layer3.0.shortcut.0", 1e-5, 2'053'820'766}}};
  report.candidate.command = {"./train", "--learning-rate", "0.05",  "--batch-size",
                              "16",      "--data-folder",   "digits"};
  report.growth.back().loss = {2.26929402, 2.269294021};
  return report;
}

/// The difference reaches the result of the model itself, which a report calls by its class.
Report report_by_layers() {
  Report report = test::origin_report();
  const std::string root = report.findings.front().root;
  report.path = {17,
                 {{140913, "Conv2d::forward", "layer2.0.conv1", 1e-7, 118},
                  {140930, root + "::forward", root, 1e-5, 64}}};
  return report;
}

/// One finding, whose difference reaches many modules, and long numbers over the steps.
Report spreading_report() {
  Report report = report_by_layers();
  report.growth = {{0, 4.56e-05, 109'299, Both<double>{2.31374478, 2.31374479}},
                   {1, 0.583, 2'034'569'275, Both<double>{2.22699761, 2.22540998}}};
  for (int module = 0; module < 20; ++module)
    report.path.points.push_back({static_cast<std::uint64_t>(140940 + module), "Linear::forward",
                                  "blocks." + std::to_string(module), 1e-5, 64});
  return report;
}

/// An op that modifies an argument and returns it, and the same of one that is not called in-place.
Report in_place_report() {
  Report report = test::origin_report();
  Finding& finding = report.findings.front();
  finding.op = "aten::uniform_";
  std::vector<TensorReport>& tensors = finding.tensors;
  TensorReport input = tensors.front();
  TensorReport modified = tensors.back();
  modified.role = Role::mutated;
  modified.index = 0;
  modified.name = "weight";
  TensorReport returned = modified;
  returned.role = Role::output;
  TensorReport other = returned;
  other.index = 1;
  other.difference->differing += 1;
  tensors = {input, modified, returned, other};
  report.findings.push_back(finding);
  report.findings.back().op = "aten::uniform";
  report.summary =
      "diverged at step 17 in backward: torch::autograd::AccumulateGrad of layer2.0.conv1 and "
      "aten::uniform_ differ";
  report.reference.command = {"/opt/models/digits/build/release/bin/digits_resnet", "--steps", "6"};
  report.candidate.command = report.reference.command;
  return report;
}

Report hostile_report() {
  Report report = mixed_report();
  make_harmful(report.summary);
  make_harmful(report.reference.path);
  make_harmful(report.candidate.command);
  report.findings.front().between = {harmful("fc1"), harmful("fc2")};
  for (Finding& finding : report.findings) make_harmful(finding);
  for (EnvironmentDifference& setting : report.environment) {
    make_harmful(setting.key);
    if (setting.candidate) make_harmful(*setting.candidate);
  }
  for (ModelDifference& model : report.models) {
    make_harmful(model.root);
    make_harmful(model.path);
    if (model.candidate) make_harmful(*model.candidate);
  }
  for (Cause& cause : report.causes) {
    make_harmful(cause.id);
    make_harmful(cause.evidence);
    make_harmful(cause.against);
    make_harmful(cause.attempt);
  }
  report.path = {17, {{140913, harmful("aten::mul"), harmful("layer2"), 1.0, 3}}};
  report.propagated.note = harmful("");
  report.coverage.unseen = {harmful("")};
  return report;
}

/// Names of 10 MB without a space, and of a million modules inside one another.
Report long_names_report() {
  constexpr std::size_t kLong = std::size_t{10} << 20;
  Report report = test::origin_report();
  Finding& finding = report.findings.front();
  finding.op = std::string(kLong, 'x');
  finding.module = std::string(kLong / 10, '.') + "last";
  return report;
}

Report many_findings_report() {
  constexpr std::size_t kFindings = 10'000;
  Report report = test::origin_report();
  Finding pattern = report.findings.front();
  pattern.tensors.erase(pattern.tensors.begin(), pattern.tensors.end() - 1);
  pattern.neighbours.clear();
  report.findings.clear();
  report.causes.clear();
  report.reference.steps = report.candidate.steps = kFindings / 20;
  for (std::size_t i = 0; i < kFindings; ++i) {
    Finding finding = pattern;
    finding.step = static_cast<std::int64_t>(i / 20);
    finding.module = "layers." + std::to_string(i % 400) + ".conv" + std::to_string(i);
    finding.event = {i, i};
    finding.tensors.back().difference->ulp_max = i + 1;
    report.findings.push_back(std::move(finding));
    report.causes.push_back({"threads", Confidence::certain, i, {"threads differ"}, {}, {}});
  }
  return report;
}

void write(const std::filesystem::path& directory, const std::string& name, const Report& report) {
  std::ofstream page(directory / (name + ".html"), std::ios::binary);
  cli::render_html(report, page);
  std::ofstream document(directory / (name + ".json"), std::ios::binary);
  cli::render_json(report, document);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_pages DIRECTORY\n";
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  write(directory, "mixed", mixed_report());
  write(directory, "hostile", hostile_report());
  write(directory, "long_names", long_names_report());
  write(directory, "many_findings", many_findings_report());
  write(directory, "by_layers", report_by_layers());
  write(directory, "spreading", spreading_report());
  write(directory, "in_place", in_place_report());
  write(directory, "identical", test::identical_report());
  return 0;
}
