// What all tools read: packages in the order they build on each other; modules are found by their names in the
// folders, which are floors: a module instantiates modules of its own folder and of those above it here.
+incdir+common
+libext+.sv
-y common
-y memory
-y btree
-y top
layout_pkg.sv
common/accelerator_pkg.sv
memory/memory_pkg.sv
btree/scan_pkg.sv
