job "a"{
# c
x=1 // one
longer = [1,
2,] /* two */
}
