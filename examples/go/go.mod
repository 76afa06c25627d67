module example.com/create-order

go 1.22
