module orders

go 1.20
