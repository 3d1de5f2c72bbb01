"""Agreement, rank correlation, significance, resampling, components of graphs: the one door to scipy.

Each module is on its own; scipy is imported where it is used.
"""
