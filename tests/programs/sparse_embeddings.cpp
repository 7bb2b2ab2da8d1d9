// Classifies bags of words with embeddings whose gradients are sparse.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct SparseSettings : programs::Basics {
  std::uint64_t words_seed = 3;
};

constexpr std::int64_t kWords = 400;

struct BagClassifierImpl : nn::Module {
  BagClassifierImpl() {
    bag = register_module(
        "bag",
        nn::EmbeddingBag(nn::EmbeddingBagOptions(kWords, 24).mode(torch::kSum).sparse(true)));
    first_word =
        register_module("first_word", nn::Embedding(nn::EmbeddingOptions(kWords, 8).sparse(true)));
    head = register_module("head", nn::Linear(32, 2));
  }

  /// words: [all words], offsets: [documents], where in `words` each document begins
  Tensor forward(const Tensor& words, const Tensor& offsets) {
    const Tensor summed = bag(words, offsets);
    const Tensor first = first_word(words.index_select(0, offsets));
    return head(torch::cat({summed, first}, 1));
  }

  nn::EmbeddingBag bag{nullptr};
  nn::Embedding first_word{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(BagClassifier);

struct Documents {
  Tensor words, offsets, labels;
};

/// 32 documents of two to nine words; a document is in class 1 if its words' numbers are odd
/// mostly.
Documents draw_documents(std::mt19937& generator) {
  std::vector<std::int64_t> words, offsets, labels;
  for (int document = 0; document < 32; ++document) {
    offsets.push_back(static_cast<std::int64_t>(words.size()));
    const std::int64_t length = 2 + static_cast<std::int64_t>(generator() % 8);
    std::int64_t odd = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      words.push_back(static_cast<std::int64_t>(generator() % kWords));
      odd += words.back() % 2;
    }
    labels.push_back(2 * odd > length);
  }
  return {torch::tensor(words), torch::tensor(offsets), torch::tensor(labels)};
}

void train(const SparseSettings& settings) {
  programs::apply(settings);
  std::mt19937 generator(static_cast<std::mt19937::result_type>(settings.words_seed));
  BagClassifier model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.5));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Documents documents = draw_documents(generator);
    optimizer.zero_grad();
    const Tensor scores = model->forward(documents.words, documents.offsets);
    const Tensor loss = torch::cross_entropy_loss(scores, documents.labels);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  std::printf("gradient of the bag is %s\n",
              model->bag->weight.grad().is_sparse() ? "sparse" : "dense");
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  SparseSettings settings;
  CLI::App app("Classifies bags of words with sparse gradients.", "sparse_embeddings");
  programs::add_flags(app, settings);
  app.add_option("--words-seed", settings.words_seed, "Seed of the documents");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
