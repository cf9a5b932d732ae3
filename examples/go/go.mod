module interlock.example/lock

go 1.19
