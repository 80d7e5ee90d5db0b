"""Figures: plain data of what is drawn, and the drawing."""
