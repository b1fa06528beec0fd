from judge_fixtures import dataset, tiny

__all__ = ["dataset", "tiny"]
