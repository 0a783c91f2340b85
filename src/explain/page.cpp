#include "explain/page.h"

#include "base/base64.h"
#include "base/file.h"
#include "explain/document.h"
#include "formats/tensors/deflate.h"

#include <map>

#include <fmt/format.h>

namespace attend {
namespace {

std::string bytes_of(const Tensor& tensor) {
  const Tensor whole = tensor.contiguous();
  return {static_cast<const char*>(whole.const_data()), static_cast<std::size_t>(whole.bytes())};
}

// A weight w as the byte 255 * sqrt(w), so that small ones keep their differences.
Tensor as_bytes(const Tensor& weights) {
  return weights.clamp(0, 1).sqrt().mul(255).round().to(kByte);
}

// Half precision, with only `bits` of the 10 mantissa bits kept. All lower bytes come first, then all upper
// ones, because they compress better separately.
Tensor as_half(const Tensor& numbers, int bits) {
  const int dropped = 10 - bits;
  const Tensor half = numbers.to(kFloat).clamp(-60000, 60000).to(kHalf).contiguous();
  Tensor code = half.view(kShort).to(kInt).bitwise_and(0xffff);
  if (dropped > 0) code = (code + (1 << (dropped - 1))).bitwise_and(0xffff << dropped);
  code = code.flatten();
  return ops::cat({code.bitwise_and(0xff).to(kByte), code.bitwise_right_shift(8).to(kByte)});
}

// JSON in an element of a page must contain nothing that looks like markup, and no character may change the
// text direction of the page's source.
std::string for_html(const Json& json) {
  std::string text = json.dump(-1, ' ', /*ensure_ascii=*/true), escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  }
  return escaped;
}

// The format of numbers, by use and by their count.
class Forms {
 public:
  Forms(const Explanation& explanation, const PageLimits& limits) : limits_(limits) {
    describe(explanation, [&](const std::string&, const Tensor& tensor, NumberUse use) -> Json {
      if (use != NumberUse::whole) (use == NumberUse::weights ? weights_ : others_) += tensor.numel();
      return {};
    });
  }

  // The name of the format, and the tensor in it.
  std::pair<const char*, Tensor> of(const Tensor& tensor, NumberUse use) const {
    if (use == NumberUse::whole)
      return tensor.type() == kByte ? std::pair("byte", tensor) : std::pair("int32", tensor.to(kInt));
    if ((weights_ + others_) * 4 <= limits_.exact) return {"float32", tensor.to(kFloat)};
    const bool large = weights_ * 2 > limits_.weights;
    if (use == NumberUse::weights && large) return {"root", as_bytes(tensor)};
    const bool drawn_only = use == NumberUse::values || use == NumberUse::states;
    return {"float16", as_half(tensor, !large ? 10 : drawn_only ? limits_.drawn_bits : limits_.bits)};
  }

 private:
  PageLimits limits_;
  std::int64_t weights_ = 0, others_ = 0;
};

}  // namespace

void make_page(const Explanation& explanation, const std::function<void(std::string_view)>& put,
               const PageLimits& limits) {
  const std::string_view page = page_template();
  const std::size_t mark = page.find(page_data_mark);
  put(page.substr(0, mark));

  const Forms forms(explanation, limits);
  std::map<std::string, int> known;  // equal tensors are stored once; the key is their bytes in the page
  std::int64_t added = 0, states = 0;
  const Json document =
      describe(explanation, [&](const std::string&, const Tensor& tensor, NumberUse use) -> Json {
        const auto [form, packed] = forms.of(tensor, use);
        const std::string bytes = bytes_of(packed);
        const std::string data = encode_base64(deflate(std::as_bytes(std::span(bytes.data(), bytes.size()))));
        auto [found, fresh] = known.emplace(fmt::format("{} {}", form, data), static_cast<int>(known.size()));
        if (fresh) {
          std::int64_t* sum = use == NumberUse::added ? &added : use == NumberUse::states ? &states : nullptr;
          const std::int64_t max = use == NumberUse::added ? limits.added : limits.states;
          if (sum && *sum + static_cast<std::int64_t>(packed.bytes()) > max) {
            known.erase(found);
            return {{"left_out", true}};
          }
          if (sum) *sum += static_cast<std::int64_t>(packed.bytes());
          put(fmt::format("<script type=\"text/plain\" data-numbers=\"{}\">", found->second));
          put(data);
          put("</script>\n");
        }
        return {{"numbers", found->second}, {"form", form}, {"shape", tensor.sizes().vec()}};
      });
  put("<script type=\"application/json\" data-explanation>");
  put(for_html(document));
  put("</script>\n");
  put(page.substr(mark + page_data_mark.size()));
}

void write_page(const Explanation& explanation, const std::filesystem::path& path, const PageLimits& limits) {
  AtomicFile file(path);
  make_page(
      explanation, [&](std::string_view piece) { file.write(piece); }, limits);
  file.commit();
}

}  // namespace attend
