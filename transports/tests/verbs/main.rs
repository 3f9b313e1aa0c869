//! What every RDMA device does, whoever implements it: the same cases on simulated devices and, with the
//! feature `rdma`, on a real one. Where the machine has none, an emulated guest has.

mod cases;
#[cfg(all(feature = "rdma", target_os = "linux"))]
mod device;
mod ends;
mod simulated;
