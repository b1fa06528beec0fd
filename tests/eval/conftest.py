from judge_fixtures import dataset

__all__ = ["dataset"]
