// Keeps its data and its results in its own HDF5 files.
#include <hdf5.h>

#include <filesystem>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct Hdf5Settings : programs::Basics {
  std::string file;
  bool other_sample = false;
};

void require(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(std::string("HDF5 cannot ") + what);
}

/// A file of two-dimensional float32 datasets.
class TensorFile {
 public:
  TensorFile(const std::string& path, bool writable)
      : file_(writable ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                       : H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    require(file_ >= 0, "open a file");
  }
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;
  ~TensorFile() { H5Fclose(file_); }

  void write(const char* name, const Tensor& values) {
    const hsize_t extent[] = {static_cast<hsize_t>(values.size(0)),
                              static_cast<hsize_t>(values.size(1))};
    const hid_t space = H5Screate_simple(2, extent, nullptr);
    const hid_t set =
        H5Dcreate2(file_, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const Tensor packed = values.detach().contiguous();
    const herr_t error = H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                  packed.const_data_ptr<float>());
    H5Dclose(set);
    H5Sclose(space);
    require(error >= 0, "write a dataset");
  }

  Tensor read(const char* name) const {
    const hid_t set = H5Dopen2(file_, name, H5P_DEFAULT);
    require(set >= 0, "find a dataset");
    const hid_t space = H5Dget_space(set);
    hsize_t extent[2] = {};
    H5Sget_simple_extent_dims(space, extent, nullptr);
    Tensor values =
        torch::empty({static_cast<std::int64_t>(extent[0]), static_cast<std::int64_t>(extent[1])});
    const herr_t error = H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                 values.mutable_data_ptr<float>());
    H5Sclose(space);
    H5Dclose(set);
    require(error >= 0, "read a dataset");
    return values;
  }

 private:
  hid_t file_;
};

struct AutoencoderImpl : nn::Module {
  AutoencoderImpl() {
    encoder = register_module("encoder", nn::Linear(64, 12));
    decoder = register_module("decoder", nn::Linear(12, 64));
  }

  Tensor forward(const Tensor& images) { return decoder(torch::tanh(encoder(images))); }

  nn::Linear encoder{nullptr}, decoder{nullptr};
};
TORCH_MODULE(Autoencoder);

void write_digits(const Hdf5Settings& settings) {
  Tensor images = programs::DigitTensors().batch(0, 256).data.flatten(1).clone();
  if (settings.other_sample) images[40][12] += 0.5;
  TensorFile(settings.file, /*writable=*/true).write("images", images);
}

void train(Hdf5Settings settings) {
  programs::apply(settings);
  const bool temporary = settings.file.empty();
  if (temporary) settings.file = "/tmp/own_hdf5." + std::to_string(getpid()) + ".h5";
  write_digits(settings);
  const Tensor images = TensorFile(settings.file, /*writable=*/false).read("images");
  Autoencoder model;
  torch::optim::Adagrad optimizer(model->parameters(), torch::optim::AdagradOptions(0.05));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor batch = images.narrow(0, step * 32 % 224, 32);
    optimizer.zero_grad();
    const Tensor loss = torch::mse_loss(model->forward(batch), batch);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  TensorFile(settings.file, /*writable=*/true).write("weight", model->encoder->weight);
  const Tensor weight = TensorFile(settings.file, /*writable=*/false).read("weight");
  std::printf("weight is %s\n", weight.equal(model->encoder->weight) ? "as written" : "damaged");
  if (temporary) std::filesystem::remove(settings.file);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  Hdf5Settings settings;
  CLI::App app("Keeps its data and its results in HDF5 files.", "own_hdf5");
  programs::add_flags(app, settings);
  app.add_option("--file", settings.file, "The file; empty for a temporary one");
  app.add_flag("--other-sample", settings.other_sample, "Change one pixel of sample 40");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
