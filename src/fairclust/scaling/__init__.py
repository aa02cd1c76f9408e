"""Beyond memory and beyond one machine: the same fits from Parquet files, memory maps, blocks of arrays, and Dask.

Pass one of these as X to :meth:`FairKMeans.fit`; what comes back is the ordinary fitted estimator. See docs/scaling.md.
"""

from ._dask import DaskParquet
from .blocks import ArrayBlocks, Blocks, MemmapBlocks, ParquetBlocks
from .in_blocks import BlockData, InBlocks
from .memory import fits_in_memory
from .objectives import StreamedKMeans, StreamedKMedian, StreamedTable
from .sources import as_blocks, large_array, open_blocks, streamed_starts

__all__ = [
    "ArrayBlocks",
    "BlockData",
    "Blocks",
    "DaskParquet",
    "InBlocks",
    "MemmapBlocks",
    "ParquetBlocks",
    "StreamedKMeans",
    "StreamedKMedian",
    "StreamedTable",
    "as_blocks",
    "fits_in_memory",
    "large_array",
    "open_blocks",
    "streamed_starts",
]
