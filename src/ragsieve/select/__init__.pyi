from .answerable import Answerable as Answerable
from .copies import Copies as Copies
from .cut import Cut as Cut
from .order import Order as Order
from .threshold import Threshold as Threshold
from .top import TopK as TopK
