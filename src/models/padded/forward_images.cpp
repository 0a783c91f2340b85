#include "models/padded/forward_parts.h"
#include "models/padded/reconstruction.h"
#include "models/padded/score_outputs.h"

namespace attend {
namespace {

// The mean over hidden pixels, as in the original.
Tensor reconstruction_loss(const ImageBatch& images, const Tensor& made, const PatchEmbeddings& patches) {
  const PatchSpec& spec = patches->spec();
  const Tensor distance = reconstruction_distance(images, made, patches);
  const Tensor hidden = images.hidden.sum().to(made.type()) * (spec.patch_height * spec.patch_width);
  return distance / (hidden + 1e-5) / spec.channels;
}

}  // namespace

void check_interpolation(const Tensors& inputs, const ImageBatch& images, const PatchSpec& spec) {
  const Tensor flag = find(inputs, "interpolate_pos_encoding");
  if (!flag.defined()) return;
  if (flag.numel() != 1) fail("interpolate_pos_encoding: expected one number, 0 or 1");
  const bool own = images.pixels.size(2) == spec.height && images.pixels.size(3) == spec.width;
  if (!own && !flag.ne(0).item<bool>())
    fail("pixel_values: expected images of {} x {} without interpolate_pos_encoding, found {} x {}",
         spec.height, spec.width, images.pixels.size(2), images.pixels.size(3));
}

ImageBatch read_images(const Tensors& inputs, PatchEmbeddings& patches) {
  const PatchSpec& spec = patches->spec();
  ImageBatch images{find(inputs, "pixel_values"), find(inputs, "bool_masked_pos")};
  Tensor& pixels = images.pixels;
  if (pixels.dim() != 4 || !ops::is_floating(pixels.type()) || pixels.size(0) == 0 ||
      pixels.size(1) != spec.channels || pixels.size(2) < spec.patch_height ||
      pixels.size(3) < spec.patch_width)
    fail(
        "pixel_values: expected numbers of shape [batch, {}, height, width] with room for a patch of {} x "
        "{}, "
        "found {} of shape [{}]",
        spec.channels, spec.patch_height, spec.patch_width, name_of(pixels.type()),
        fmt::join(pixels.sizes(), ", "));
  pixels = pixels.to(kFloat);
  if (!images.hidden.defined()) return images;
  const auto [rows, columns] = patches->grid(pixels);
  if (images.hidden.sizes() != Dimensions({pixels.size(0), rows * columns}))
    fail("bool_masked_pos: expected the shape [{}, {}], found [{}]", pixels.size(0), rows * columns,
         fmt::join(images.hidden.sizes(), ", "));
  images.hidden = images.hidden.ne(0);
  return images;
}

Result forward_images(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options) {
  Result r;
  Capture capture{options.hidden_states, options.attentions, {}, {}};
  Pass pass = capturing(capture, options);
  Transformer net = model.network();
  PatchEmbeddings& patches = net->encoder->patches;
  std::set<std::string> known = {"pixel_values", "interpolate_pos_encoding"};
  known.merge(label_inputs(net));
  check_names(inputs, known);
  const ImageBatch images = read_images(inputs, patches);
  check_interpolation(inputs, images, patches->spec());
  const auto [rows, columns] = patches->grid(images.pixels);
  const Tensor hidden = net->encode(images, pass);  // [T, d]
  const std::int64_t batch = images.pixels.size(0), length = 1 + rows * columns;
  // No padding: every image has equally many patches.
  const Padded layout(ops::zeros({batch, length}, kLong), {}, "pixel_values");
  const TokenBatch tokens = layout.batch({}, {});
  if (net->pixel_head) {
    const Tensor seen = hidden.reshape({batch, length, -1}).narrow(1, 1, length - 1);
    const Tensor made = net->pixel_head(seen, rows, columns);
    r.out["reconstruction"] = made;
    if (images.hidden.defined()) r.loss = reconstruction_loss(images, made, patches);
  } else if (net->score_head) {
    r.loss = put_scores(r.out, inputs, net,
                        {.hidden = hidden, .pooled = {}, .layout = layout, .batch = tokens}, pass);
  } else {
    r.out["last_hidden_state"] = layout.pad(hidden);
    if (net->pooler) r.out["pooler_output"] = net->pooler(hidden, tokens.offsets, pass);
  }
  if (pass.capture) put_captured(r.out, "", pass.capture->encoder, layout);
  return r;
}

}  // namespace attend
