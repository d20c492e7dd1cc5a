//! Durability: crashes at every call of the disk, faults of the disk, recovery, checkpoints.

mod archives;
mod bodies;
mod changes;
mod checkpoints;
mod crashes;
mod faults;
mod files;
mod history;
mod observed_disk;
mod old_values;
mod workload;
