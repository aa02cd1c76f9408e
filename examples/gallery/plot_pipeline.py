"""
In a pipeline
=============

The estimators are scikit-learn's: with metadata routing on, ``sensitive_features`` travels through
a ``Pipeline`` to the step that asks for it.
"""

import matplotlib.pyplot as plt
import pandas as pd
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairclust import FairKMeans
from fairclust.plotting import CompositionDisplay

customers = pd.read_csv("../customers.csv")
prepare = make_column_transformer(
    (
        make_pipeline(SimpleImputer(), StandardScaler()),
        ["age", "income", "visits", "basket", "tenure"],
    ),
    (OneHotEncoder(sparse_output=False), ["channel", "region"]),
)

with sklearn.config_context(enable_metadata_routing=True):
    pipeline = make_pipeline(prepare, FairKMeans(6, goal=0.01, random_state=0))
    pipeline.fit(customers, sensitive_features=customers["sex"])

print(pipeline[-1].goal_met_, round(pipeline[-1].balance_, 3))
CompositionDisplay.from_estimator(pipeline[-1])
plt.show()
