"""The front door: a table in, a nonlinear model out (`estimators`); the pieces it is made of are beside it."""
