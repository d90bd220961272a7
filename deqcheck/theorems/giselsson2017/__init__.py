"""Giselsson 2017: rates of Peaceman-Rachford splitting."""
