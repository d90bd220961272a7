"""Losses of the linear map W -> sum_i l(W phi_i, y_i), with their infima and PL constants."""
