package wire

// Backends are the accelerators that a node may run and a request may name, one
// each. There is no auto: a node runs what it says, and work gets what it names.
var Backends = []string{"cpu", "cuda", "hip", "metal", "opencl", "openvino", "qsv", "rocm", "sycl", "vaapi", "vulkan"}
