// The sources for all tools: packages in the order of their dependencies. Tools find modules by name in the
// folders, which are layers: a module instantiates only modules of its own folder and of those above it here.
+incdir+common
+libext+.sv
-y common
-y memory
-y btree
-y top
-y shell
layout_pkg.sv
common/accelerator_pkg.sv
common/axi_pkg.sv
memory/memory_pkg.sv
btree/search_pkg.sv
btree/scan_pkg.sv
top/request_pkg.sv
shell/pcie_pkg.sv
