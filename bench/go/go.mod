module weftbench

go 1.21
