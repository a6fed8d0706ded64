// Convolution, pooling and order in stdlib/ against loops written here, and their gradients against differences.
#include <functional>

#include "program_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;

namespace {

/// An image or its like: [height, width, channels].
struct Image {
  int64_t h, w, c;
  std::vector<double> data;
  double& at(int64_t y, int64_t x, int64_t k) { return data[static_cast<size_t>((y * w + x) * c + k)]; }
  double at(int64_t y, int64_t x, int64_t k) const { return data[static_cast<size_t>((y * w + x) * c + k)]; }
  bool holds(int64_t y, int64_t x) const { return y >= 0 && y < h && x >= 0 && x < w; }
};
Image blank(int64_t h, int64_t w, int64_t c) { return {h, w, c, std::vector<double>(static_cast<size_t>(h * w * c), 0)}; }

struct Window {
  int64_t kh, kw, stride = 1, dilation = 1, before_y = 0, before_x = 0, out_h = 0, out_w = 0, groups = 1;
};

/// The kernel is [kh, kw, in / groups, out].
Image convolved(const Image& x, const std::vector<double>& kernel, int64_t filters, const Window& w) {
  Image y = blank(w.out_h, w.out_w, filters);
  const int64_t in = x.c / w.groups, out = filters / w.groups;
  for (int64_t r = 0; r < y.h; ++r)
    for (int64_t s = 0; s < y.w; ++s)
      for (int64_t f = 0; f < filters; ++f)
        for (int64_t i = 0; i < w.kh; ++i)
          for (int64_t j = 0; j < w.kw; ++j) {
            const int64_t py = r * w.stride + i * w.dilation - w.before_y, px = s * w.stride + j * w.dilation - w.before_x;
            if (!x.holds(py, px)) continue;
            for (int64_t k = 0; k < in; ++k)
              y.at(r, s, f) += x.at(py, px, f / out * in + k) * kernel[static_cast<size_t>(((i * w.kw + j) * in + k) * filters + f)];
          }
  return y;
}

/// Every pixel writes a window; the kernel is [kh, kw, out, in].
Image transposed(const Image& x, const std::vector<double>& kernel, int64_t filters, const Window& w) {
  Image y = blank(w.out_h, w.out_w, filters);
  for (int64_t r = 0; r < x.h; ++r)
    for (int64_t s = 0; s < x.w; ++s)
      for (int64_t i = 0; i < w.kh; ++i)
        for (int64_t j = 0; j < w.kw; ++j) {
          const int64_t py = r * w.stride + i - w.before_y, px = s * w.stride + j - w.before_x;
          if (!y.holds(py, px)) continue;
          for (int64_t f = 0; f < filters; ++f)
            for (int64_t k = 0; k < x.c; ++k)
              y.at(py, px, f) += x.at(r, s, k) * kernel[static_cast<size_t>(((i * w.kw + j) * filters + f) * x.c + k)];
        }
  return y;
}

Image pooled(const Image& x, const Window& w, bool largest) {
  Image y = blank(w.out_h, w.out_w, x.c);
  for (int64_t r = 0; r < y.h; ++r)
    for (int64_t s = 0; s < y.w; ++s)
      for (int64_t k = 0; k < x.c; ++k) {
        double top = -INFINITY, sum = 0, count = 0;
        for (int64_t i = 0; i < w.kh; ++i)
          for (int64_t j = 0; j < w.kw; ++j) {
            const int64_t py = r * w.stride + i - w.before_y, px = s * w.stride + j - w.before_x;
            if (!x.holds(py, px)) continue;
            top = std::max(top, x.at(py, px, k));
            sum += x.at(py, px, k);
            ++count;
          }
        y.at(r, s, k) = largest ? top : sum / count;
      }
  return y;
}

/// The program's loss is Σ call(a + w) · t, its gradients those of a weight w = 0 and of the call's own kernel.
void agrees(const std::string& call, const Image& like, const Image& out, const std::string& kernel,
            const std::function<Image(const Image&, const std::vector<double>&)>& expected) {
  const std::string shape = fmt::format("{}, {}, {}", like.h, like.w, like.c), result = fmt::format("{}, {}, {}", out.h, out.w, out.c);
  Run run(lowered("dataset Points {\n  train = synthetic(4, fields = { a = normal([" + shape + "]), t = normal([" + result +
                  "]) })\n  batch = 4\n}\nmodel M (a: f32[batch, " + shape + "], t: f32[batch, " + result + "]) -> f32[batch, " + result +
                  "] {\n  weight w: f32[" + shape + "] = zeros\n  " + call + " * t\n}\n" +
                  "train {\n  model = M\n  data = Points\n  loss = sum(prediction)\n  optimizer = sgd(1.0)\n  epochs = 1\n}\n"));
  CAPTURE(call);
  Image x = like;
  x.data = noise({like.h, like.w, like.c}, 3).data;
  const std::vector<double> t = noise({out.h, out.w, out.c}, 4).data;
  std::vector<double> weights;
  if (!kernel.empty()) weights = run.weight(kernel).data;
  const auto loss = [&](const Image& at, const std::vector<double>& with) {
    const Image y = expected(at, with);
    REQUIRE(y.data.size() == t.size());
    double sum = 0;
    for (size_t i = 0; i < t.size(); ++i) sum += y.data[i] * t[i];
    return sum;
  };
  run.train({{"a", array({1, x.h, x.w, x.c}, x.data)}, {"t", array({1, out.h, out.w, out.c}, t)}});
  CHECK(run.report("train/loss") == Approx(loss(x, weights)).margin(1e-6));
  for (size_t i = 0; i < x.data.size(); ++i) {
    Image up = x, down = x;
    up.data[i] += 1e-5;
    down.data[i] -= 1e-5;
    CHECK(-run.weight("M/w").data[i] == Approx((loss(up, weights) - loss(down, weights)) / 2e-5).margin(1e-5));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    std::vector<double> up = weights, down = weights;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    CHECK(weights[i] - run.weight(kernel).data[i] == Approx((loss(x, up) - loss(x, down)) / 2e-5).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("convolutions are their loops, and so are their gradients") {
  struct Row {
    std::string call;
    int64_t c, filters;
    Window window;
  };
  const Row rows[] = {
      {"conv2d(3, use_bias = false)", 2, 3, {3, 3, 1, 1, 0, 0, 3, 2}},
      {"conv2d(3, padding = same)", 2, 3, {3, 3, 1, 1, 1, 1, 5, 4}},
      {"conv2d(2, kernel = [3, 2], stride = 2, padding = same)", 1, 2, {3, 2, 2, 1, 1, 0, 3, 2}},
      {"conv2d(2, kernel = 2, padding = 1, dilation = 2)", 1, 2, {2, 2, 1, 2, 1, 1, 5, 4}},
      {"conv2d(2, kernel = 2, padding = causal)", 1, 2, {2, 2, 1, 1, 1, 1, 5, 4}},
      {"conv2d(6, kernel = 2, groups = 2)", 4, 6, {2, 2, 1, 1, 0, 0, 4, 3, 2}},
      {"conv2d(4, kernel = 2, groups = 4)", 4, 4, {2, 2, 1, 1, 0, 0, 4, 3, 4}},
      {"conv2d(5, kernel = 1)", 3, 5, {1, 1, 1, 1, 0, 0, 5, 4}},
      {"conv2d(5, kernel = 1, stride = 2)", 3, 5, {1, 1, 2, 1, 0, 0, 3, 2}},
      {"depthwise_conv2d(kernel = 2, multiplier = 3)", 2, 6, {2, 2, 1, 1, 0, 0, 4, 3, 2}},
  };
  for (const Row& row : rows) {
    const std::string name = row.call.substr(0, row.call.find('('));
    agrees("(a + w |> " + row.call + ")", blank(5, 4, row.c), blank(row.window.out_h, row.window.out_w, row.filters),
           "M/" + name + ".0/kernel",
           [&](const Image& x, const std::vector<double>& kernel) { return convolved(x, kernel, row.filters, row.window); });
  }
}

TEST_CASE("a transposed convolution writes a window for each pixel") {
  const std::pair<std::string, Window> rows[] = {
      {"kernel = 3, stride = 2, padding = same", {3, 3, 2, 1, 0, 0, 6, 4}},
      {"kernel = 3, stride = 2", {3, 3, 2, 1, 0, 0, 7, 5}},
      {"kernel = 4, stride = 2, padding = 1", {4, 4, 2, 1, 1, 1, 6, 4}},
      {"kernel = 1, stride = 2", {1, 1, 2, 1, 0, 0, 6, 4}},
  };
  for (const auto& [arguments, window] : rows) {
    agrees("(a + w |> conv2d_transpose(2, " + arguments + "))", blank(3, 2, 3), blank(window.out_h, window.out_w, 2),
           "M/conv2d_transpose.0/kernel",
           [&, w = window](const Image& x, const std::vector<double>& kernel) { return transposed(x, kernel, 2, w); });
  }
}

TEST_CASE("pooling is of the elements that exist") {
  const std::pair<std::string, Window> rows[] = {
      {"2", {2, 2, 2, 1, 0, 0, 2, 2}},
      {"3, stride = 2, padding = same", {3, 3, 2, 1, 1, 0, 3, 2}},
      {"3, stride = 1, padding = 1", {3, 3, 1, 1, 1, 1, 5, 4}},
  };
  for (const auto& [arguments, window] : rows) {
    for (const bool largest : {true, false}) {
      agrees(fmt::format("(a + w |> {}_pool({}))", largest ? "max" : "avg", arguments), blank(5, 4, 2),
             blank(window.out_h, window.out_w, 2), "",
             [&, w = window](const Image& x, const std::vector<double>&) { return pooled(x, w, largest); });
    }
  }
}

namespace {

/// The gradient of sum(expression) by `x`, a row of numbers, and its value.
std::pair<double, std::vector<double>> measured(const std::string& expression, const std::vector<double>& x) {
  Run run(
      lowered(fmt::format("dataset Points {{\n  train = synthetic(4, fields = {{ a = normal([{0}]) }})\n  batch = 4\n}}\n"
                          "model M (a: f32[batch, {0}]) -> f32[] {{\n  weight w: f32[{0}] = zeros\n  let x = a + w\n  sum({1})\n}}\n"
                          "train {{\n  model = M\n  data = Points\n  loss = prediction\n  optimizer = sgd(1.0)\n  epochs = 1\n}}\n",
                          x.size(), expression)));
  run.train({{"a", array({1, static_cast<int64_t>(x.size())}, x)}});
  std::vector<double> gradient = run.weight("M/w").data;
  for (double& g : gradient) g = g == 0 ? 0 : -g;
  return {run.report("train/loss"), gradient};
}

}  // namespace

TEST_CASE("the gradient of max_pool goes to the first of equals, and a NaN stays one") {
  using List = std::vector<double>;
  CHECK(measured("max_pool(reshape(x, [batch, 2, 4, 1]), 2)", {1, 1, 3, 2, 1, 1, 2, 3}) == std::pair(4.0, List{1, 0, 1, 0, 0, 0, 0, 0}));
  CHECK(measured("max_pool(reshape(x, [batch, 2, 2, 1]), 2)", {-5, -4, -4, -7}) == std::pair(-4.0, List{0, 1, 0, 0}));
  CHECK(std::isnan(measured("max_pool(reshape(x, [batch, 2, 2, 1]), 2)", {1, NAN, 2, 3}).first));
}

TEST_CASE("sort, top_k, argsort and cumsum are what they say, equals in their order, a NaN the largest") {
  using List = std::vector<double>;
  const List x = {3, -1, 3, 0.5};
  const std::string places = "cast(iota([4]), f32)";
  // Σ sorted · (0, 1, 2, 3): the gradient is each element's place.
  CHECK(measured("sort(x) * " + places, x) == std::pair(0.5 + 6 + 9, List{2, 0, 3, 1}));
  CHECK(measured("sort(x, descending = true) * " + places, x) == std::pair(3 + 1.0 - 3, List{0, 3, 1, 2}));
  CHECK(measured("argsort(x) * " + places + " + 0 * w", x).first == 3 + 0 + 6);
  CHECK(measured("top_k(x, 2)[0] * cast(iota([2]) + 1, f32)", x) == std::pair(9.0, List{1, 0, 2, 0}));
  CHECK(measured("top_k(x, 3)[1] * cast(iota([3]), f32) + 0 * w[0 .. 3]", x).first == 2 + 2 * 3);
  CHECK(measured("cumsum(x)", x) == std::pair(3 + 2 + 5 + 5.5, List{4, 3, 2, 1}));
  CHECK(measured("cumsum(x, reverse = true)", x) == std::pair(5.5 + 2.5 + 3.5 + 0.5, List{1, 2, 3, 4}));
  CHECK(measured("argsort(x) * " + places + " + 0 * w", {NAN, 1, -1, 2}).first == 1 + 2 * 3 + 3 * 0);
}

TEST_CASE("spatial_dropout leaves or takes whole channels of an example, and none outside training") {
  Run run(lowered(R"(dataset Images {
  train = synthetic(16, fields = { image = normal([4, 3, 8]) })
  batch = 16
}
model Net (image: float[batch, 4, 3, 8]) -> float[batch, 4, 3, 8] {
  weight w: float[] = ones
  w * image |> spatial_dropout(0.25)
}
train {
  model = Net
  data = Images
  loss = mean(prediction)
  metrics = {
    spread = max(max(prediction, axis = [1, 2]) - min(prediction, axis = [1, 2]))
    kept = mean(prediction != 0)
    largest = max(prediction)
    examples_differ = max(max(prediction, axis = 0) - min(prediction, axis = 0))
  }
  optimizer = sgd(0.0)
  epochs = 1
}
)"));
  const graph::Array image = array({16, 4, 3, 8}, std::vector<double>(size_t{16 * 4 * 3 * 8}, 1));
  run.start();
  run.train({{"image", image}});
  CHECK(run.report("train/spread") == 0);
  CHECK(run.report("train/kept") > 0.5);
  CHECK(run.report("train/kept") < 0.95);
  CHECK(run.report("train/largest") == Approx(1 / 0.75));
  CHECK(run.report("train/examples_differ") > 0);
  run.start();
  run.evaluate({{"image", image}});
  CHECK(run.report("eval/kept") == 1);
  CHECK(run.report("eval/largest") == 1);
}
