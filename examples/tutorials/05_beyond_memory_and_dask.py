"""
Rows that do not fit in memory, and Dask
========================================

The solver never sees a row, only small tables of masses. So the same fit runs on an array,
on a Parquet file that is read block by block, and on a Dask cluster. Here the file is small, so
that the page builds quickly; the code is that for a large one.
"""

import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import polars as pl

from fairclust import FairKMeans, audit
from fairclust.datasets import make_census_like
from fairclust.plotting import CompositionDisplay
from fairclust.scaling import ParquetBlocks
from fairclust.solvers import Dual

folder = Path(tempfile.mkdtemp())
data = make_census_like(60_000)
table = pl.DataFrame(data.data, schema=list(data.feature_names)).with_columns(
    sex=data.sensitive_features
)
table.write_parquet(folder / "people.parquet", row_group_size=20_000)

# %%
# From a file
# -----------
#
# ``sensitive_features`` is then the name of a column. Labels go to a file too, if they are to.
people = ParquetBlocks(folder / "people.parquet", labels_to=folder / "labels.parquet")
streamed = FairKMeans(10, goal=0.01, random_state=0).fit(people, sensitive_features="sex")
print(streamed.goal_met_, round(streamed.objective_, 1))
labels = pl.read_parquet(folder / "labels.parquet")["cluster"]
print(audit(labels, table["sex"]))

# %%
# The labels need no model to be drawn, and nothing but one column of the file.
CompositionDisplay.from_predictions(labels, table["sex"])
plt.show()

# %%
# The same in memory
# ------------------
#
# Samples for the start and the first iterations are the same rows however the data are cut; sums are added in
# another order. Single rows are moved in memory only, so that is switched off here.
memory = FairKMeans(10, goal=0.01, solver=Dual(local_search=False), random_state=0)
memory.fit(data.data, sensitive_features=data.sensitive_features)
print(f"{streamed.objective_ / memory.objective_ - 1:+.1e}")

# %%
# On Dask
# -------
#
# A Dask array or data frame as ``X``. Without a cluster it uses threads; with ``distributed.Client(...)`` in
# force the rows stay with the workers and a few kilobytes travel per pass. ``labels_`` is then a Dask array
# with the partitions of ``X``.
X = da.from_array(data.data, chunks=(20_000, -1))
sex = da.from_array(data.sensitive_features, chunks=20_000)
spread = FairKMeans(10, goal=0.01, random_state=0).fit(X, sensitive_features=sex)
print(type(spread.labels_).__name__, spread.labels_.chunks)
print(
    "the same blocks give the same labels:",
    bool((spread.labels_.compute() == labels.to_numpy()).all()),
)

# %%
# Labelling the rest
# ------------------
#
# What comes back is the ordinary estimator: it labels new rows, wherever it was fitted.
new = make_census_like(1_000, random_state=1)
rows = pl.DataFrame(new.data, schema=list(new.feature_names))
print(streamed.predict(rows, sensitive_features=new.sensitive_features)[:10])

# %%
# On the command line, ``fairclust fit people.parquet --sensitive sex -k 10 --out labels.parquet`` decides by
# itself whether the file fits in memory; ``--dask tcp://host:8786`` uses a cluster. :doc:`What it costs
# </scaling>`, from 25 million rows on.
