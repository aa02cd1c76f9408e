"""What Ncut needs of its own: coarser graphs, spectral starts, its problem."""
